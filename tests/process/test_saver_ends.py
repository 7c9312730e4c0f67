"""How the saver ends: what it says, how long it waits, what a killed process leaves, and writers that throw."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from probed_host import Probed
from runner_calls import RunnerCalls
from saver_driver import Driver, StartDriver, read_rows, saved_files

MIB = 1 << 20
COUNT = 50
THROWN_AT = 300
# Nothing is written to its end as long as the test takes.
STUCK = {"SLOW_DISK_BYTES_PER_SECOND": "1", "SLOW_DISK_IS_REMOTE": "1"}
LOSSES = ("queue_stalled", "at_exit", "out_of_memory", "write_failed", "no_space", "below_reserve")


@pytest.fixture
def slow_disk(native_file: Callable[[str], Path]) -> dict[str, str]:
    return {"LD_PRELOAD": str(native_file("libslow_disk.so")), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def lost(counters: dict[str, int]) -> int:
    return sum(counters[reason] for reason in LOSSES)


def test_an_end_that_takes_long_says_what_is_left(start: StartDriver, slow_disk: dict[str, str]) -> None:
    driver = start(**slow_disk, SLOW_DISK_BYTES_PER_SECOND=str(2 * MIB), SLOW_DISK_IS_REMOTE="1")
    driver.ask(f"burst 4 {MIB}")
    counters = driver.finish()
    assert (counters["tensors_saved"], lost(counters)) == (4, 0)
    said = re.findall(r"the process ends as soon as (\d+) tensors \((\d+) bytes\) are written", driver.said())
    assert len(said) == 1
    tensors, size = map(int, said[0])
    assert 0 < tensors <= 4
    assert tensors * MIB <= size < tensors * (MIB + 4096)


def test_a_short_end_says_nothing(driver: Driver) -> None:
    driver.ask("burst 4 1000")
    driver.finish()
    assert driver.said() == ""


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_an_end_at_which_nothing_moves_is_given_up(start: StartDriver, slow_disk: dict[str, str]) -> None:
    """Half a minute for the caller that finds the queue full, as long for the end; what was queued is counted."""
    driver = start(**slow_disk, **STUCK, ATBPROBE_QUEUE_BYTES="8 MiB", ATBPROBE_WRITERS="1")
    stalled = driver.counters(f"burst 8 {MIB}")["queue_stalled"]
    assert stalled == 1
    counters = driver.finish()
    assert counters["tensors_saved"] == 0
    assert counters["at_exit"] == 7
    assert lost(counters) == 8
    assert "8 of the selected tensors and parameters are not on disk" in driver.said()
    assert all(path.suffix != ".bin" for path in saved_files(driver.data))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL, None], ids=["SIGTERM", "SIGKILL", "_exit"])
def test_a_sudden_end_loses_what_was_queued_and_the_slot_tells_how_much(
    probed: Probed, slow_disk: dict[str, str], sent: signal.Signals | None
) -> None:
    probed.extra_environment |= {**STUCK, "ATBPROBE_WRITERS": "1"}
    probed.extra_environment["LD_PRELOAD"] = f"{probed.environment()['LD_PRELOAD']}:{slow_disk['LD_PRELOAD']}"
    probed.publish({"dump_enable": True, "exec_range": "all"})
    with probed.caller() as host:
        RunnerCalls(host).before("0_1/0/0_Layer", [np.ones(250, np.float32)] * COUNT)
        queued = probed.process(host.pid).bytes_queued
        assert queued > COUNT * 1000
        if sent is None:
            host.send("0\t_exit\n")
        else:
            os.kill(host.pid, sent)
        host.end()
        assert host.exit_code == (0 if sent is None else -sent)
        host.exit_code = 0  # as it should be
    process = probed.process(host.pid)
    assert not process.alive
    assert (process.tensors_saved, process.bytes_queued) == (0, queued)
    assert all(path.suffix != ".bin" for path in saved_files(probed.data))


@pytest.fixture
def throwing(start: StartDriver, native_file: Callable[[str], Path]) -> Driver:
    """A driver with two writers that throw for a while."""
    return start(LD_PRELOAD=str(native_file("libthrowing_new.so")), THROWING_NEW_COUNT="200", ATBPROBE_WRITERS="2")


def test_a_writer_that_throws_is_a_counted_loss(throwing: Driver) -> None:
    throwing.ask(f"burst {THROWN_AT} 1000")
    counters = throwing.counters("idle")
    assert counters["out_of_memory"] > 0
    assert counters["write_failed"] > 0
    assert counters["tensors_saved"] + lost(counters) == THROWN_AT
    for number in range(THROWN_AT):
        throwing.save(f"0_1234/{number}/2_A/before/intensor0.bin")
    after = throwing.finish()
    assert after["tensors_saved"] + lost(after) == 2 * THROWN_AT
    assert after["tensors_saved"] > counters["tensors_saved"], "the writers live"
    written = {str(path) for path in saved_files(throwing.data) if path.suffix == ".bin"}
    tables = [*throwing.data.rglob("statistic.csv")]
    rows = [row for table in tables for row in read_rows(table)]
    assert {row["Tensor Path"] for row in rows} - {"N/A"} <= written
    assert len([row for row in rows if row["Tensor Path"] != "N/A"]) == after["tensors_saved"]
