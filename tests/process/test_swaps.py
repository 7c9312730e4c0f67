"""Programs swapped as fast as they go under threads that decide as fast as they can."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from probed_host import WAIT_SECONDS, Probed, image_of
from swap_host import Counts, SwapHost

from atbprobe_rules.channel import Channel, channel_folder, remove_channel, runtime_lock

REPOSITORY = Path(__file__).parent.parent.parent
ON: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "task": "statistics"}
PROGRAMS: list[dict[str, Any]] = [
    {**ON, "save_child": True},
    {"dump_enable": False},
    {"dump_enable": True, "op_name": "linear", "save_child": True, "next": 3},
    {**ON, "ids": "0,3,5-7"},
    {**ON, "op_name": "*Kernel"},
    {**ON, "exec_range": "0-/3", "ids": "*_0", "rules": [{"name": "all"}, {"save_child": True, "next": 1}]},
    {**ON, "device": "4"},
]
# With these an operation may go without its end: a rule ends, or its condition is not met.
LIMITED_PROGRAMS: list[dict[str, Any]] = [
    {**ON, "save_child": True, "when": "nonfinite"},
    {**ON, "save_child": True, "when": "abs > 100", "stop_after": 5},
    {"dump_enable": False},
    {**ON, "save_child": True, "max_bytes": 200, "task": "all"},
    {
        **ON,
        "save_child": True,
        "rules": [
            {"name": "first", "when": "nan | abs > 0", "stop_after": 3, "task": "tensor"},
            {"name": "small", "max_tensor_bytes": 4, "io": "in"},
            {"name": "large", "when": "abs > 1e18", "op_name": "linear"},
        ],
    },
    {"dump_enable": True, "task": "all", "save_child": True, "when": "abs > 50", "next": 4},
]
SETS = {"whole": PROGRAMS, "limited": LIMITED_PROGRAMS}
# Some of what waits for a condition waits in memory, the rest in files.
HELD = {"ATBPROBE_HELD_BYTES": "4 KiB"}
SANITIZERS = {"tsan": ("thread", "libtsan.so"), "asan-ubsan": ("address,undefined", "libasan.so")}
SECONDS = 60


def images(probed: Probed, programs: str) -> list[bytes]:
    made = []
    for rules in SETS[programs]:
        probed.write(rules)
        made.append(image_of(probed.config))
    return made


def wait_until_attached(host: SwapHost, probed: Probed) -> None:
    """Wait until the host has found the channel: where it looked in between two of them, it looks again later."""
    until = time.monotonic() + WAIT_SECONDS
    with probed.channel() as channel:
        while host.pid not in {process.pid for process in channel.live_processes()}:
            assert time.monotonic() < until, "the host has not found the channel"
            host.counts()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "save_every"), [("whole", 0), ("limited", 20)])
def test_ten_thousand_swaps_leave_nothing_behind(probed: Probed, kind: str, save_every: int) -> None:
    """No op is decided by halves, and every program is freed: they come to 1.3 GB, counts for `next` included."""
    programs = itertools.cycle(images(probed, kind))
    probed.publish_image(next(programs))
    with (
        probed.channel() as channel,
        SwapHost(probed, probed.native_file("swap_stress"), {**probed.environment(), **HELD}, save_every) as host,
    ):
        resident = []
        for _ in range(10):
            for _ in range(1000):
                channel.publish(next(programs))
            host.wait_for_executions(1000)
            resident.append(host.resident_bytes())
        check_counts(host.counts(), kind)
        growth = resident[-1] - resident[0]
        assert growth < 20 << 20, resident
        messages = host.end()
    assert probed.process(host.pid).ops_open == 0
    assert "refused" not in messages
    assert ("condition met" in messages) == (kind == "limited")


@pytest.mark.soak
@pytest.mark.needs_gcc
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(("sanitizer", "runtime"), SANITIZERS.values(), ids=SANITIZERS)
def test_a_minute_of_swaps_under_a_sanitizer(
    probed: Probed, tmp_path: Path, sanitizer: str, runtime: str, kind: str
) -> None:
    """With saves, with threads that come and go, and with channels that are closed and made anew."""
    native = built_with(sanitizer, tmp_path / "build")
    found = subprocess.run(["g++", f"-print-file-name={runtime}"], check=True, capture_output=True, text=True)
    environment = {
        **probed.environment(),
        **HELD,
        "LD_PRELOAD": f"{found.stdout.strip()}:{native / 'libatb_probe_abi1.so'}",
        "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    programs = itertools.cycle(images(probed, kind))
    with SwapHost(probed, native / "swap_stress", environment, save_every=500 if kind == "whole" else 20) as host:
        channels = 0
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            with probed.channel() as channel:
                for _ in range(200):
                    channel.publish(next(programs))
                host.counts()
                with runtime_lock(channel.folder):
                    remove_channel(channel.folder)
            channels += 1
        probed.publish_image(next(programs))
        wait_until_attached(host, probed)
        counts = host.counts()
        messages = host.end()
    assert host.exit_code == 0, messages
    assert "Sanitizer" not in messages
    assert "runtime error" not in messages
    check_counts(counts, kind)
    assert channels > 10
    with Channel.attach(channel_folder(str(probed.config))) as channel:
        assert [process.lost for process in channel.processes()] == [{}]


def check_counts(counts: Counts, kind: str) -> None:
    assert counts.headless == 0
    assert counts.cut == 0 or kind == "limited"
    assert 0 < counts.whole < counts.executions


def built_with(sanitizer: str, build: Path) -> Path:
    configure = ["cmake", "-S", REPOSITORY, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    options = [f"-DATBPROBE_SANITIZER={sanitizer}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DATBPROBE_BUILD_TESTS=ON"]
    subprocess.run([*configure, *options], check=True, capture_output=True)
    targets = ["--target", "atb_probe_abi1", "swap_stress"]
    subprocess.run(["cmake", "--build", build, *targets], check=True, capture_output=True)
    return build / "native"
