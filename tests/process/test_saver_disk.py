"""The saver against the disk: full ones, planted links, folders of other processes; and what is said."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mounted_disk import small_disk
from saver_driver import (
    INPUT,
    STATISTICS,
    Driver,
    StartDriver,
    loose_ends,
    read_bin,
    read_rows,
    saved_files,
)


def test_a_full_disk(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        driver = start(output=disk, ATBPROBE_MIN_FREE="0")
        paths = [f"0_1234/0/2_A/before/intensor{number}.bin" for number in range(40)]
        for path in paths:
            driver.save(path, bytes(100_000), dtype=4)
        counters = driver.counters("idle")
        assert counters["no_space"] > 0
        assert counters["no_space"] + counters["tensors_saved"] == len(paths)
        stored = [path for path in saved_files(driver.data) if path.suffix == ".bin"]
        assert len(stored) == counters["tensors_saved"]
        assert {row["Tensor Path"] for row in driver.rows()} - {"N/A"} == {str(path) for path in stored}
        assert not loose_ends(driver.output)
        assert driver.said().count("lost (no_space") == 1

        for file in stored:
            file.unlink()
        driver.save("0_1234/0/2_A/after/outtensor0.bin", bytes(100_000), dtype=4)
        after = driver.finish()
        assert after["tensors_saved"] == counters["tensors_saved"] + 1
        assert after["no_space"] == counters["no_space"]
        assert driver.rows()[-1]["Input/Output"] == "output"
        assert f"{counters['no_space']} of the selected tensors" in driver.said()


@pytest.mark.parametrize("queue", ["64 MiB", "0"])
def test_a_limit_on_file_sizes_does_not_end_the_host(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue)
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (50_000, 50_000))
    driver.save("0_1234/0/2_A/before/intensor0.bin", bytes(100_000), dtype=4)
    driver.save("0_1234/0/2_A/before/intensor1.bin", bytes(10_000), dtype=4)
    counters = driver.finish()
    assert counters["write_failed"] == 1
    assert counters["tensors_saved"] == 1
    lost, saved = driver.rows()
    assert lost["Tensor Path"] == "N/A"
    assert lost["Max"] == "0"
    assert len(read_bin(Path(saved["Tensor Path"]))[1]) == 10_000
    assert not loose_ends(driver.output)


def test_a_row_is_written_whole_or_not_at_all(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="1")
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (1_000, 1_000))
    for number in range(20):
        driver.save(f"0_1234/0/2_A/before/intensor{number}.bin", tasks=STATISTICS)
    counters = driver.finish()
    rows = driver.rows()
    assert 0 < len(rows) < 20
    assert counters["tensors_saved"] == len(rows)
    assert counters["write_failed"] == 20 - len(rows)


@pytest.mark.parametrize("place", ["0_1234", "0_1234/0", "0_1234/0/2_A", "0_1234/0/2_A/before"])
def test_a_planted_link_leads_nowhere(start: StartDriver, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    driver = start()
    if place != "0_1234":
        driver.save("0_1234/9/2_A/before/intensor0.bin")
        driver.ask("idle")
    link = driver.data / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.finish()
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["2_A/before/intensor0.bin", "statistic.csv"])
def test_a_planted_link_to_a_file_is_not_written_through(start: StartDriver, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    driver = start()
    driver.save("0_1234/9/2_A/before/intensor0.bin")
    driver.ask("idle")
    link = driver.data / "0_1234/0" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.finish()
    assert victim.read_text() == "untouched"
    assert len(read_bin(driver.data / "0_1234/0/2_A/before/intensor0.bin")[1]) == 4


@pytest.mark.parametrize("part", ["output", "process", "round"])
def test_an_output_folder_that_is_cleared_while_the_model_runs(driver: Driver, part: str) -> None:
    driver.save()
    driver.ask("idle")
    cleared = {
        "output": driver.output,
        "process": driver.data / "0_1234",
        "round": driver.data / "0_1234/0",
    }[part]
    cleared.rename(driver.output.with_name("moved"))
    subprocess.run(["rm", "-r", driver.output.with_name("moved")], check=True)
    driver.save()
    counters = driver.finish()
    assert counters["tensors_saved"] == 2
    assert len(driver.rows()) == 1
    assert read_bin(driver.data / INPUT)[0]["dims"] == "1"


def test_a_moved_output_folder_is_made_anew(driver: Driver) -> None:
    driver.save()
    driver.ask("idle")
    moved = driver.output.with_name("first")
    driver.output.rename(moved)
    driver.save()
    driver.finish()
    assert len(driver.rows()) == 1
    assert len(read_rows(moved / "atb_dump_data/data/0_1234/0/statistic.csv")) == 1


def test_a_folder_of_a_living_process_is_not_shared(start: StartDriver, tmp_path: Path) -> None:
    first = start(output=tmp_path / "shared")
    second = start(output=tmp_path / "shared")
    first.save()
    first.ask("idle")
    second.save()
    second.finish()
    first.finish()
    (row,) = second.rows("0_1234.1/0")
    assert row["Device and PID"] == "0_1234"
    assert row["Tensor Path"] == str(second.data / "0_1234.1" / INPUT.removeprefix("0_1234/"))
    assert len(first.rows()) == 1
    assert "0_1234 belongs to another process" in second.said()


def test_a_folder_of_a_dead_process_is_moved_aside(start: StartDriver, tmp_path: Path) -> None:
    for _ in range(3):
        driver = start(output=tmp_path / "shared")
        driver.save()
        driver.finish()
    assert sorted(path.name for path in driver.data.iterdir()) == ["0_1234", "0_1234.old1", "0_1234.old2"]
    assert len(driver.rows()) == 1
    assert "0_1234 of a process that has ended was moved to 0_1234.old2" in driver.said()


def test_a_folder_without_an_owner_is_left_alone(driver: Driver) -> None:
    foreign = driver.data / "0_1234/0"
    foreign.mkdir(parents=True)
    (foreign / "statistic.csv").write_text("of another tool")
    driver.save()
    driver.finish()
    assert (foreign / "statistic.csv").read_text() == "of another tool"
    assert len(driver.rows("0_1234.1/0")) == 1


def answer_of(driver: Driver) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(driver.ask("environment"))
    return answer


def test_environment_defaults(start: StartDriver) -> None:
    answer = answer_of(start())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < answer["queue_bytes"] <= min(1 << 30, memory // 8)
    assert answer["writers"] == min(4, len(os.sched_getaffinity(0)))
    assert answer["log_level"] == 2
    assert answer["config"] == ""
    assert answer["min_free"] == -1
    assert answer["fsync"] == 0


@pytest.mark.parametrize(
    ("text", "number"), [("12345", 12345), ("8 MiB", 8 << 20), ("2GiB", 2 << 30), (" 1 KiB ", 1024), ("0", 0)]
)
def test_queue_bytes(start: StartDriver, text: str, number: int) -> None:
    assert answer_of(start(ATBPROBE_QUEUE_BYTES=text))["queue_bytes"] == number


@pytest.mark.parametrize("text", ["-1", "many", "8 Mib", "99999999999999999999", "99999999999 GiB", "1.5"])
def test_queue_bytes_that_are_none(start: StartDriver, text: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=text)
    assert answer_of(driver)["queue_bytes"] == answer_of(start())["queue_bytes"]
    assert f"ATBPROBE_QUEUE_BYTES={text} is not understood" in driver.said()


def test_log_level_silences(start: StartDriver) -> None:
    driver = start(ATB_AIT_LOG_LEVEL="5")
    driver.ask("announce")
    driver.save("")
    driver.finish()
    assert driver.said() == ""


def test_messages_are_single_printable_lines(driver: Driver) -> None:
    driver.save("bad\n\x1b[31m" + "x" * 5000)
    driver.finish()
    lines = driver.said().splitlines()
    assert all(re.fullmatch(r"\[atbprobe\] [A-Z]+: [ -~]*", line) for line in lines)
    assert "bad\\x0a\\x1b[31m" in lines[0]
    assert len(lines[0]) < 2000


def test_a_message_that_grows_when_escaped_is_cut(driver: Driver) -> None:
    driver.save("/" + "\x1b" * 1000)
    driver.finish()
    line = driver.said().splitlines()[0]
    assert re.fullmatch(r"\[atbprobe\] ERROR: lost \(bad_path\): /(\\x1b){100,}\.\.\.", line), line
