"""What `explain --ops` takes for a million operations: deciding them, and the whole command, text in and JSON out."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.evaluate import decide_many
from atbprobe_rules.op_lines import OpLines, read_op_lines
from atbprobe_rules.op_texts import OpPaths
from atbprobe_rules.program import Program

OPS = 1_000_000
REPEATS = 5
THREADS = 2
"""As many as the command has."""

CONFIG = b"""{"dump_enable": true, "exec_range": "0-2", "rules": [
    {"ids": "2_**,5-100_1_*_0", "op_name": "!*outf32kernel"},
    {"op_name": "attention/**/*kernel", "save_child": true, "device": "0-3"},
    {"ids": "*_3", "save_child": true, "task": "all"}]}"""
"""Ranges, wildcards, a path over any depth and an exclusion: both automata run, and path terms advance."""

_NAMES = ("RmsNormOperation", "Attention", "Mlp", "LinearOperation", "FusionAttention", "SelfAttention")


def op_lines() -> Iterator[str]:
    """Yield a million executions of kernels of eight processes, no two operations alike."""
    for number in range(OPS):
        layer, rest = divmod(number, 90)
        part, kernel = divmod(rest, 3)
        block, op = divmod(part, 5)
        path = f"{layer}_Decoder_layer/{block}_{_NAMES[block]}/{op}_{_NAMES[op]}/{kernel}_PpMatMulF16Kernel"
        yield f"{number % 4}\t{number % 8}_1234/{number % 4}/{path}\n"


def seconds_to_decide(program: Program, batches: list[OpLines]) -> tuple[float, float]:
    """Return seconds and CPU seconds of taking lines apart and deciding them.

    AssertionError if none or all are selected.
    """
    begin, busy = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(THREADS) as pool:
        decisions = list(pool.map(lambda lines: decide_many(program, lines.rounds, OpPaths.of(lines.dirs)), batches))
    passed, busy = time.perf_counter() - begin, time.process_time() - busy
    selected = sum(int((part["rules"] != 0).sum()) for part in decisions)
    if not 0 < selected < OPS:
        raise AssertionError(f"{selected} of {OPS} are selected: this measures something else")
    return passed, busy


def seconds_and_peak_of_command(config: Path, ops: Path) -> tuple[float, float, float]:
    """Return seconds, CPU seconds and MiB of `explain --ops --json`; AssertionError unless each line is answered."""
    answers = ops.with_suffix(".answers")
    words = [sys.executable, "-m", "atbprobe_rules", "explain", str(config), "--ops", str(ops), "--json"]
    begin = time.perf_counter()
    with answers.open("wb") as output, subprocess.Popen(words, stdout=output) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    passed = time.perf_counter() - begin
    with answers.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    if process.returncode != 0 or lines != OPS:
        raise AssertionError(f"exit code {process.returncode}, {lines} answers")
    return passed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure() -> dict[str, float]:
    """Return medians."""
    program = compile_selection(check_config(CONFIG, "config.json").require(), bytes(32))
    memory = Path("/dev/shm")
    with TemporaryDirectory(prefix="atbprobe-bench-", dir=memory if memory.is_dir() else None) as name:
        config, ops = Path(name) / "config.json", Path(name) / "ops"
        config.write_bytes(CONFIG)
        with ops.open("w") as file:
            file.writelines(op_lines())
        # First, as a child's peak begins with what its parent has.
        runs = [seconds_and_peak_of_command(config, ops) for _ in range(REPEATS)]
        with ops.open("rb") as lines:
            batches = list(read_op_lines(lines))
        decided = [seconds_to_decide(program, batches) for _ in range(REPEATS)]
    passed, busy, peak = (statistics.median(column) for column in zip(*runs, strict=True))
    deciding, deciding_busy = (statistics.median(column) for column in zip(*decided, strict=True))
    return {
        f"deciding {OPS:,} operations, s": deciding,
        f"deciding {OPS:,} operations, CPU s": deciding_busy,
        "explain --ops --json, s": passed,
        "explain --ops --json, CPU s": busy,
        "explain --ops --json, peak MiB": peak,
    }
