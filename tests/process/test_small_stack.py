"""Threads with the smallest stack that a thread can have, whose first call is a process's first and saves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from probed_host import WAIT_SECONDS, Probed
from saver_driver import read_bin, read_rows

ROUNDS = 3
PAGE = 4096
# PTHREAD_STACK_MIN, of which the C library takes a part for the thread's own data and the host the rest.
SMALLEST_STACK = 16384


@pytest.fixture(autouse=True)
def not_for_sanitizers(native_file: Callable[[str], Path]) -> None:
    """They make every stack frame a multiple of its size."""
    library = native_file("libatb_probe_abi1.so").read_bytes()
    if b"__asan_init" in library or b"__tsan_init" in library:
        pytest.skip("a sanitizer needs a larger stack")


def run(probed: Probed, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [probed.native_file("small_stack"), *arguments]
    return subprocess.run(
        command, env=probed.environment(), capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )


@pytest.mark.parametrize("rules", [{}, {"filter_level": 1}, {"save_child": True, "op_name": "layer"}], ids=str)
@pytest.mark.parametrize("queue", ["", "0"], ids=["queue", "no queue"])
def test_a_thread_with_the_smallest_stack_saves(probed: Probed, queue: str, rules: dict[str, object]) -> None:
    probed.extra_environment["ATBPROBE_QUEUE_BYTES"] = queue
    probed.publish({"dump_enable": True, "exec_range": "all", "task": "all", **rules})
    done = run(probed)
    assert done.returncode == 0, done.stderr
    (process,) = [path for path in probed.data.iterdir() if not path.name.startswith(".")]
    for number in range(ROUNDS):
        folder = process / str(number)
        assert len(read_bin(folder / "0_Layer/before/intensor0.bin")[1]) == 8
        assert (folder / "0_Layer/op_param.json").read_text(encoding="utf-8") == '{"scale":1.5}\n'
        assert len(read_rows(folder / "statistic.csv")) == 1


@pytest.mark.parametrize("log_level", ["2", "nonsense\x01" * 100])
def test_messages_need_no_more(probed: Probed, log_level: str) -> None:
    """Of an output folder that cannot be made, and of a setting that is not understood."""
    probed.extra_environment |= {"ATBPROBE_QUEUE_BYTES": "0", "ATB_AIT_LOG_LEVEL": log_level}
    probed.publish({"dump_enable": True, "exec_range": "all", "task": "all"})
    (probed.folder / "atb_dump_data").write_text("in the way")
    done = run(probed)
    assert done.returncode == 0, done.stderr
    assert "Not a directory" in done.stderr
    assert ("is not understood" in done.stderr) == (log_level != "2")


@pytest.mark.parametrize("queue", ["", "0"], ids=["queue", "no queue"])
def test_what_it_takes_leaves_room_for_the_host(
    probed: Probed, queue: str, record_property: Callable[[str, object], None]
) -> None:
    probed.extra_environment["ATBPROBE_QUEUE_BYTES"] = queue
    probed.publish({"dump_enable": True, "exec_range": "all", "task": "all"})
    done = run(probed, "measure")
    assert done.returncode == 0, done.stderr
    taken = int(done.stdout)
    record_property("bytes of stack", taken)
    assert 0 < taken <= SMALLEST_STACK - PAGE
