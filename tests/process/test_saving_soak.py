"""A million small tensors through many threads of two processes while the rules change: every one has its row."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack
from typing import Any

import pytest
from probed_host import Probed, image_of
from swap_host import SwapHost

TENSORS = 1_000_000
PROCESSES = 2
ON: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0}
PROGRAMS: list[dict[str, Any]] = [
    {**ON, "task": "all"},
    {**ON, "task": "statistics"},
    {**ON, "op_name": "linear"},
    {**ON, "ids": "0,3,5-7", "task": "statistics"},
    {**ON, "op_name": "*Kernel", "task": "all"},
    {"dump_enable": False},
]
SECONDS_BETWEEN_SWAPS = 1


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_million_tensors_each_have_a_row(probed: Probed) -> None:
    """Saves to one path replace each other, so that files do not fill the disk; rows are one for each save."""
    images = []
    for rules in PROGRAMS:
        probed.write(rules)
        images.append(image_of(probed.config))
    programs = itertools.cycle(images)
    probed.publish_image(next(programs))
    environment = {**probed.environment(), "ATBPROBE_QUEUE_BYTES": "64 MiB"}
    with probed.channel() as channel, ExitStack() as running:
        stress = probed.native_file("swap_stress")
        hosts = [running.enter_context(SwapHost(probed, stress, environment, save_every=1)) for _ in range(PROCESSES)]
        resident: list[int] = []
        swaps = 0
        while sum(host.counts().saves for host in hosts) < TENSORS:
            time.sleep(SECONDS_BETWEEN_SWAPS)
            channel.publish(next(programs))
            swaps += 1
            resident.append(sum(host.resident_bytes() for host in hosts))
        accepted = sum(host.stop().saves for host in hosts)
        for host in hosts:
            host.end()

    processes = [probed.process(host.pid) for host in hosts]
    rows = 0
    for statistics in probed.data.rglob("statistic.csv"):
        with statistics.open(encoding="utf-8") as lines:
            rows += sum(1 for _ in lines) - 1
    assert [process.lost for process in processes] == [{}] * PROCESSES
    assert rows == accepted >= TENSORS
    assert sum(process.tensors_saved for process in processes) == accepted
    assert swaps > len(PROGRAMS)
    half = len(resident) // 2
    assert max(resident[half:]) < max(resident[:half]) + (32 << 20), resident
