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
from swap_host import SwapHost

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
SANITIZERS = {"tsan": ("thread", "libtsan.so"), "asan-ubsan": ("address,undefined", "libasan.so")}
SECONDS = 60


def images(probed: Probed) -> list[bytes]:
    made = []
    for rules in PROGRAMS:
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
def test_ten_thousand_swaps_leave_nothing_behind(probed: Probed) -> None:
    """No op is decided by halves, and every program is freed: they come to 1.3 GB, counts for `next` included."""
    programs = itertools.cycle(images(probed))
    probed.publish_image(next(programs))
    with (
        probed.channel() as channel,
        SwapHost(probed, probed.native_file("swap_stress"), probed.environment(), save_every=0) as host,
    ):
        resident = []
        for _ in range(10):
            for _ in range(1000):
                channel.publish(next(programs))
            host.wait_for_executions(1000)
            resident.append(host.resident_bytes())
        executions, whole, halves, _ = host.counts()
        assert halves == 0
        assert 0 < whole < executions
        growth = resident[-1] - resident[0]
        assert growth < 20 << 20, resident
        messages = host.end()
    assert probed.process(host.pid).ops_open == 0
    assert "refused" not in messages


@pytest.mark.soak
@pytest.mark.needs_gcc
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("sanitizer", "runtime"), SANITIZERS.values(), ids=SANITIZERS)
def test_a_minute_of_swaps_under_a_sanitizer(probed: Probed, tmp_path: Path, sanitizer: str, runtime: str) -> None:
    """With saves, with threads that come and go, and with channels that are closed and made anew."""
    native = built_with(sanitizer, tmp_path / "build")
    found = subprocess.run(["g++", f"-print-file-name={runtime}"], check=True, capture_output=True, text=True)
    environment = {
        **probed.environment(),
        "LD_PRELOAD": f"{found.stdout.strip()}:{native / 'libatb_probe_abi1.so'}",
        "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    programs = itertools.cycle(images(probed))
    with SwapHost(probed, native / "swap_stress", environment, save_every=500) as host:
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
        executions, whole, halves, _ = host.counts()
        messages = host.end()
    assert host.exit_code == 0, messages
    assert "Sanitizer" not in messages
    assert "runtime error" not in messages
    assert halves == 0
    assert 0 < whole < executions
    assert channels > 10
    with Channel.attach(channel_folder(str(probed.config))) as channel:
        assert [process.lost for process in channel.processes()] == [{}]


def built_with(sanitizer: str, build: Path) -> Path:
    configure = ["cmake", "-S", REPOSITORY, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    options = [f"-DATBPROBE_SANITIZER={sanitizer}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DATBPROBE_BUILD_TESTS=ON"]
    subprocess.run([*configure, *options], check=True, capture_output=True)
    targets = ["--target", "atb_probe_abi1", "swap_stress"]
    subprocess.run(["cmake", "--build", build, *targets], check=True, capture_output=True)
    return build / "native"
