"""A decision allocates nothing after a thread's first one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from probed_host import WAIT_SECONDS, Probed

ROUNDS = 50
LAYER = "0_1/0/2_Prefill_layer"
DIRS = [f"{LAYER}/1_Attention/0_Linear/0_MatMulKernel", f"{LAYER}/1_Attention", LAYER, "0_1/0/0_WordEmbedding"]
TERMS = {"ids": ",".join(f"{number}_7" for number in range(40)), "op_name": "a/b, c*d, !e?f", "device": "0-6/2"}


@pytest.mark.parametrize(
    ("rules", "granted"),
    [
        ({"dump_enable": False}, 0),
        ({"dump_enable": True, "exec_range": "10000"}, 0),
        ({"dump_enable": True, "exec_range": "all", **TERMS, "save_child": True}, 0),
        ({"dump_enable": True, "exec_range": "all", "save_child": True}, len(DIRS)),
        ({"dump_enable": True, "exec_range": "all", "rules": [{"ids": "0"}, {"ids": "2_**", "io": "out"}]}, 1),
    ],
    ids=["off", "no round", "unselected", "selected", "rules"],
)
def test_decisions_after_the_first(probed: Probed, rules: dict[str, Any], granted: int) -> None:
    probed.publish({**rules, "filter_level": 0})
    command = [probed.native_file("allocations"), str(ROUNDS), *DIRS]
    done = subprocess.run(
        command, env=probed.environment(), capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
    )
    threads = [[int(number) for number in line.split()] for line in done.stdout.splitlines()]
    assert [(later, passes) for _, later, passes in threads] == [(0, granted * ROUNDS)] * 2
    assert threads[0][0] > 0, "the first call of a process makes its record and attaches"
