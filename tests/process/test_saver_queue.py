"""The saver between the model and the disk: order, threads, the queue, and the end of a process."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from saver_driver import (
    STATISTICS,
    Driver,
    StartDriver,
    loose_ends,
    read_bin,
    read_rows,
    saved_files,
)


def rows_by_operation(path: Path) -> dict[str, list[dict[str, str]]]:
    operations = defaultdict(list)
    for row in read_rows(path):
        operations[row["Op Id"]].append(row)
    return operations


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
def test_twelve_threads_two_hundred_rounds(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("threads 12 200 64")
    counters = driver.finish()
    assert counters["tensors_saved"] == 2400
    assert counters["bytes_saved"] == 2400 * 64
    assert counters["bytes_queued"] == 0
    for number in range(200):
        rows = read_rows(driver.own / str(number) / "statistic.csv")
        assert sorted(int(row["Op Id"]) for row in rows) == list(range(12))
        for row in rows:
            assert read_bin(Path(row["Tensor Path"]))[1] == bytes([int(row["Op Id"])]) * 64
    assert not loose_ends(driver.output)


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
def test_twelve_threads_into_one_file(start: StartDriver, queue: str) -> None:
    """One header, every row whole, and the rows of each thread in the order of its calls."""
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("threads-one-round 12 200 64")
    driver.finish()
    lines = (driver.own / "0" / "statistic.csv").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("Device and PID") for line in lines) == 1
    assert {line.count(",") for line in lines} == {14}
    rows = read_rows(driver.own / "0" / "statistic.csv")
    assert len(rows) == 2400
    for thread in range(12):
        mine = [int(row["Index"]) for row in rows if row["Op Id"] == str(thread)]
        assert mine == list(range(200))


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
@pytest.mark.parametrize("writers", ["1", "7"])
def test_rows_come_in_call_order(start: StartDriver, queue: str, writers: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS=writers)
    sizes = [0 if number % 7 else 60_000 for number in range(300)]
    for number, size in enumerate(sizes):
        path = f"0_1234/{number % 3}/2_A/before/intensor{number}.bin"
        driver.save(path, b"\1" * size, dtype=4)
    driver.finish()
    for number in range(3):
        assert [int(row["Index"]) for row in driver.rows(f"0_1234/{number}")] == list(range(number, 300, 3))


@pytest.mark.parametrize("queue", ["64 MiB", "3000", "0"])
def test_the_later_save_to_a_path_stays(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("same 500 1000")
    driver.finish()
    stored = read_bin(driver.own / "0/0_WordEmbedding/before/intensor0.bin")[1]
    assert int.from_bytes(stored[:4], "little") == 499
    assert len(read_rows(driver.own / "0/statistic.csv")) == 500


def test_a_small_queue_loses_nothing(start: StartDriver) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES="2 MiB", ATBPROBE_WRITERS="2")
    driver.ask(f"burst 60 {1 << 20}")
    driver.save(data=bytes(5 << 20), dtype=4, dims=str(5 << 20))
    counters = driver.finish()
    assert counters["tensors_saved"] == 61
    assert counters["bytes_saved"] == 65 << 20
    assert "the queue of 2097152 bytes is full" in driver.said()
    assert len(read_rows(driver.own / "0/statistic.csv")) == 60


def test_a_full_queue_without_progress_lets_the_caller_go(driver: Driver) -> None:
    assert json.loads(driver.ask("stall")) == {
        "first": 1,
        "too_large": 1,
        "stalled": 1,
        "again": 1,
        "waited": 1,
    }


def test_calls_after_the_drain_are_carried_out_by_their_caller(driver: Driver) -> None:
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.ask("drain")
    counters = driver.save("0_1234/0/2_A/before/intensor1.bin")
    assert counters["tensors_saved"] == 2
    assert [row["Index"] for row in driver.rows()] == ["0", "1"]


def test_a_process_that_saves_nothing_leaves_no_trace(driver: Driver) -> None:
    assert sum(driver.finish().values()) == 0
    assert not driver.output.exists()
    assert driver.said() == ""


def test_announce_makes_the_folder_and_says_so_once(driver: Driver) -> None:
    driver.ask("announce")
    assert driver.data.is_dir()
    driver.ask("announce")
    driver.finish()
    line = "[atbprobe] WARNING: Ready to dump ATB data, the running speed of the model will be affected\n"
    assert driver.said() == line


def test_an_output_folder_that_cannot_be_made(start: StartDriver, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    driver = start(output=tmp_path / "file")
    driver.ask("announce")
    driver.save()
    driver.save()
    counters = driver.finish()
    assert counters["write_failed"] == 2
    assert counters["tensors_saved"] == 0
    assert driver.said().count("Not a directory") == 2  # at announce, and at the first loss


def test_fork(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="2")
    driver.ask("burst 20 1000")
    child, status = (int(word) for word in driver.ask("fork 30 1000").split())
    assert status == 0
    driver.finish()
    assert len(read_rows(driver.own / "0/statistic.csv")) == 20
    rows = read_rows(driver.data / f"0_{child}" / "0/statistic.csv")
    assert len(rows) == 30
    assert all(f"/0_{child}/" in row["Tensor Path"] for row in rows)
    assert len([path for path in saved_files(driver.data) if path.suffix == ".bin"]) == 50


@pytest.mark.parametrize("end", ["_exit", "kill"])
def test_sudden_end(start: StartDriver, end: str) -> None:
    driver = start(ATBPROBE_WRITERS="3")
    driver.ask(f"burst 50 {1 << 20}")
    driver.ask(end)
    assert driver.process.wait() in (0, -signal.SIGKILL)
    files = saved_files(driver.data) if driver.data.exists() else []
    written = {str(path) for path in files if path.suffix == ".bin"}
    table = driver.own / "0/statistic.csv"
    rows = read_rows(table) if table.exists() else []
    assert {row["Tensor Path"] for row in rows} <= written


def test_killed_in_the_middle_of_a_large_file(start: StartDriver) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES="0")
    command = f"same 1000 {64 << 20}\n".encode()
    driver.stdin.write(command)
    driver.stdin.flush()
    while not any(path.suffix == ".tmp" for path in loose_ends(driver.output)):
        assert driver.process.poll() is None
    driver.process.kill()
    driver.process.wait()
    for path in saved_files(driver.data):
        assert path.suffix == ".csv" or len(read_bin(path)[1]) == 64 << 20
    assert len(loose_ends(driver.output)) <= 1  # of the one thread that wrote


def test_statistics_alone_need_no_room_in_the_queue(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="1")
    size = 8 << 20
    for number in range(20):
        counters = driver.save(f"0_1234/0/2_A/after/outtensor{number}.bin", bytes(size), dtype=0, tasks=STATISTICS)
        assert counters["bytes_queued"] < size
    driver.finish()
    assert [row["Max"] for row in driver.rows()] == ["0"] * 20
