"""A decision after a thread's first one: no allocation, no lock, no system call."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from probed_host import WAIT_SECONDS, Probed

ROUNDS = 50
LAYER = "0_1/0/2_Prefill_layer"
DIRS = [f"{LAYER}/1_Attention/0_Linear/0_MatMulKernel", f"{LAYER}/1_Attention", LAYER, "0_1/0/0_WordEmbedding"]
TERMS = {"ids": ",".join(f"{number}_7" for number in range(40)), "op_name": "a/b, c*d, !e?f", "device": "0-6/2"}

# Name → rules, and how many of the operations they select in each round.
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "off": ({"dump_enable": False}, 0),
    "no round": ({"dump_enable": True, "exec_range": "10000"}, 0),
    "unselected": ({"dump_enable": True, "exec_range": "all", **TERMS, "save_child": True}, 0),
    "selected": ({"dump_enable": True, "exec_range": "all", "save_child": True}, len(DIRS)),
    "rules": ({"dump_enable": True, "exec_range": "all", "rules": [{"ids": "0"}, {"ids": "2_**", "io": "out"}]}, 1),
}
cases = pytest.mark.parametrize(("rules", "granted"), CASES.values(), ids=CASES)


def run(probed: Probed, *launcher: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*launcher, probed.native_file("decision_costs"), str(ROUNDS), *DIRS]
    environment = probed.environment()
    if launcher:
        # The tool must not have the probe itself.
        environment = {**environment, "LD_PRELOAD": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS, check=True)


@cases
def test_nothing_is_allocated_and_no_lock_is_taken(probed: Probed, rules: dict[str, Any], granted: int) -> None:
    probed.publish({**rules, "filter_level": 0})
    threads = [[int(number) for number in line.split()] for line in run(probed).stdout.splitlines()]
    assert [(allocations, locks, passes) for _, _, allocations, locks, passes in threads] == [
        (0, 0, granted * ROUNDS)
    ] * 2
    first_allocations, first_locks = threads[0][:2]
    assert first_allocations > 0 and first_locks > 0, "the first call of a process makes its record and attaches"


@pytest.mark.needs_strace
@cases
def test_the_kernel_is_not_called(probed: Probed, rules: dict[str, Any], granted: int) -> None:
    probed.publish({**rules, "filter_level": 0})
    trace = probed.folder / "trace"
    preload = f"LD_PRELOAD={probed.environment()['LD_PRELOAD']}"
    done = run(probed, "strace", "-f", "-o", trace, "-E", preload)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == [str(granted * ROUNDS)] * 2
    calls = trace.read_text().splitlines()
    markers = [number for number, call in enumerate(calls) if re.search(r'write\(2, "(begin|end)', call)]
    assert len(markers) == 4
    for begin, end in (markers[:2], markers[2:]):
        thread = calls[begin].split()[0]
        assert [call for call in calls[begin + 1 : end] if call.split()[0] == thread] == []
