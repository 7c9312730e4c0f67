"""The saver where writing is slow, and how much memory it takes there and elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from saver_driver import Driver, StartDriver, loose_ends, read_bin, read_rows, saved_files

MIB = 1 << 20
QUEUE = 8 * MIB
COUNT = 100
# For the copies of a tensor that the driver, its caller, has, and for files, rows and the heap around them.
BESIDE_THE_QUEUE = 6 * MIB
BACKLOG = 2 * MIB

DISKS = {"local": {"SLOW_DISK_BYTES_PER_SECOND": "100000000"}, "remote": {"SLOW_DISK_BYTES_PER_SECOND": "20000000"}}


@pytest.fixture
def start_on(start: StartDriver, native_file: Callable[[str], Path]) -> StartDriver:
    """Starts drivers on a slow disk of the kind given first."""
    preload = {
        "LD_PRELOAD": str(native_file("libslow_disk.so")),
        # A driver that is built with the address sanitizer wants its runtime to be loaded before anything else.
        "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0",
    }

    def start_driver(kind: str, **environment: str) -> Driver:
        remote = {"SLOW_DISK_IS_REMOTE": str(int(kind == "remote"))}
        return start(ATB_AIT_LOG_LEVEL="1", **{**preload, **DISKS[kind], **remote, **environment})

    return start_driver


def memory_of(driver: Driver, key: str) -> int:
    status = Path(f"/proc/{driver.process.pid}/status").read_text(encoding="ascii")
    found = re.search(rf"^{key}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) << 10


def is_sanitized(driver: Driver) -> bool:
    """Then most of its memory is the sanitizer's."""
    return (
        re.search(r"/lib[at]san\.so", Path(f"/proc/{driver.process.pid}/maps").read_text(encoding="utf-8")) is not None
    )


def peak_growth_of_burst(driver: Driver, count: int, size: int) -> int:
    """How far peak memory goes beyond that after the first tensor."""
    driver.ask("announce")
    driver.save()
    driver.ask("idle")
    before = memory_of(driver, "VmRSS")
    driver.ask(f"burst {count} {size}")
    driver.ask("idle")
    return 0 if is_sanitized(driver) else memory_of(driver, "VmHWM") - before


def milliseconds_said(driver: Driver) -> tuple[int, int]:
    said = re.search(r"waited (\d+) ms in all for room in the queue, and wrote tensors for (\d+) ms", driver.said())
    assert said is not None, driver.said()
    return int(said[1]), int(said[2])


@pytest.mark.parametrize("kind", DISKS)
def test_a_slow_disk_and_a_small_queue(start_on: StartDriver, kind: str) -> None:
    """Memory stays bounded, nothing is lost, and the time that it took the model is counted."""
    driver = start_on(kind, ATBPROBE_QUEUE_BYTES=str(QUEUE))
    assert peak_growth_of_burst(driver, COUNT, 1_000_000) < QUEUE + BESIDE_THE_QUEUE
    counters = driver.finish()
    assert counters["tensors_saved"] == COUNT + 1
    assert len(read_rows(driver.own / "0/statistic.csv")) == COUNT
    assert "lost" not in driver.said()
    waited, wrote = milliseconds_said(driver)
    assert (waited > 0, wrote > 0) == (kind == "remote", kind == "local")


def test_a_local_disk_needs_no_copies_of_large_tensors(start: StartDriver) -> None:
    """With the default queue, which all of them would fit into."""
    driver = start()
    assert peak_growth_of_burst(driver, COUNT, MIB) < BACKLOG + BESIDE_THE_QUEUE
    assert driver.finish()["tensors_saved"] == COUNT + 1
    assert [row["Index"] for row in read_rows(driver.own / "0/statistic.csv")] == [str(i) for i in range(COUNT)]


# Nothing is written to its end as long as the test takes.
STUCK = {"SLOW_DISK_BYTES_PER_SECOND": "1"}


@pytest.mark.parametrize(("kind", "size", "fsync"), [("remote", MIB, "0"), ("local", 4096, "0"), ("local", MIB, "1")])
def test_a_burst_that_is_copied_faster_than_written_waits_in_the_queue(
    start_on: StartDriver, kind: str, size: int, fsync: str
) -> None:
    driver = start_on(kind, ATBPROBE_FSYNC=fsync, **STUCK)
    driver.ask("announce")
    counters = driver.counters(f"burst 20 {size}")
    assert counters["tensors_saved"] == 0
    assert counters["bytes_queued"] >= 20 * size


@pytest.mark.parametrize("writers", ["1", "4"])
def test_the_later_save_to_a_path_stays_though_large_tensors_pass_others(start: StartDriver, writers: str) -> None:
    driver = start(ATBPROBE_WRITERS=writers)
    driver.ask("announce")
    driver.ask(f"burst 500 {20_000}")
    driver.ask(f"same 150 {300_000}")
    driver.finish()
    stored = read_bin(driver.own / "0/0_WordEmbedding/before/intensor0.bin")[1]
    assert int.from_bytes(stored[:4], "little") == 149
    assert len(read_rows(driver.own / "0/statistic.csv")) == 650


def test_large_tensors_of_many_threads(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="2")
    driver.ask("announce")
    driver.ask(f"threads-one-round 12 10 {300_000}")
    assert driver.finish()["tensors_saved"] == 120
    rows = read_rows(driver.own / "0/statistic.csv")
    for thread in range(12):
        mine = [row for row in rows if row["Op Id"] == str(thread)]
        assert [row["Index"] for row in mine] == [str(i) for i in range(10)]
        assert {row["Max"] for row in mine} == {str(thread)}
    assert len([path for path in saved_files(driver.data) if path.suffix == ".bin"]) == 120
    assert not loose_ends(driver.output)
