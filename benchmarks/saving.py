"""How fast selected tensors get to disk: whole processes, from start to end, with everything written."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.libraries import Library, built_file

# Files in memory, so that the libraries are measured and not a disk.
MEMORY = Path("/dev/shm")
KIB, MIB = 1 << 10, 1 << 20
FLOAT, HALF, BF16 = 0, 1, 27


@dataclass(frozen=True)
class Scenario:
    """Tensors as (count, bytes) in the order in which they are saved; `queue` is a value of ATBPROBE_QUEUE_BYTES."""

    name: str
    task: str
    dtype: int
    tensors: tuple[tuple[int, int], ...]
    queue: str = ""

    @property
    def count(self) -> int:
        return sum(count for count, _ in self.tensors)

    @property
    def bytes(self) -> int:
        return sum(count * size for count, size in self.tensors)


SMALL = Scenario("4 KiB tensors", "tensor", FLOAT, ((20_000, 4 * KIB),))
MEDIUM = Scenario("1 MiB tensors", "tensor", FLOAT, ((256, MIB),))
LARGE = Scenario("16 MiB tensors", "tensor", FLOAT, ((16, 16 * MIB),))
TRANSFERS = [SMALL, MEDIUM, LARGE]
SHORT_QUEUE = [replace(transfer, name=f"{transfer.name}, short queue", queue="4 MiB") for transfer in TRANSFERS]
STATISTICS = [
    Scenario("statistics of float16", "statistics", HALF, ((16, 16 * MIB),)),
    Scenario("statistics of bf16", "statistics", BF16, ((16, 16 * MIB),)),
    Scenario("statistics of float", "statistics", FLOAT, ((16, 16 * MIB),)),
    Scenario("task all, float16", "all", HALF, ((8, 16 * MIB),)),
    Scenario("task all, bf16", "all", BF16, ((8, 16 * MIB),)),
    Scenario("a tensor of one element, then 64 MiB", "all", HALF, ((1, 2), (1, 64 * MIB))),
    Scenario("64 MiB, then a tensor of one element", "all", HALF, ((1, 64 * MIB), (1, 2))),
]


@dataclass(frozen=True)
class Run:
    """What one process took: seconds until it had ended, and its peak memory in bytes."""

    seconds: float
    peak: int


def rules(task: str) -> dict[str, Any]:
    return {
        "task": task,
        "dump_enable": True,
        "exec_range": "all",
        "ids": "",
        "op_name": "layer",
        "save_child": False,
        "device": "",
        "filter_level": 0,
    }


def run(scenario: Scenario, library: Library) -> Run:
    """Save all tensors; AssertionError if not all of them are there afterwards."""
    with library.environment(rules(scenario.task), MEMORY) as environment:
        environment["ATBPROBE_QUEUE_BYTES"] = scenario.queue
        mode = "plain" if library.is_plain else "probe"
        tensors = [str(number) for tensors in scenario.tensors for number in tensors]
        program = str(built_file("saving_host"))
        output = Path(environment["ATB_OUTPUT_DIR"])
        messages, answer = output / "messages", output / "answer"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        outputs = [
            (os.POSIX_SPAWN_OPEN, 1, str(answer), flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, str(messages), flags, 0o600),
        ]
        start = time.perf_counter()
        pid = os.posix_spawn(program, [program, mode, str(scenario.dtype), *tensors], environment, file_actions=outputs)
        _, status = os.waitpid(pid, 0)
        seconds = time.perf_counter() - start
        said = messages.read_text(encoding="utf-8", errors="replace")
        if status != 0:
            raise AssertionError(f"{scenario.name}, {library.name}: {said}")
        check_all_is_there(scenario, library, output, said)
        peak = int(answer.read_text(encoding="utf-8").splitlines()[-1])
    return Run(seconds, peak * KIB)


def check_all_is_there(scenario: Scenario, library: Library, output: Path, said: str) -> None:
    if scenario.task != "statistics":
        sizes = [path.stat().st_size for path in output.rglob("*.bin")]
        if len(sizes) != scenario.count or sum(sizes) < scenario.bytes:
            raise AssertionError(f"{scenario.name}, {library.name}: {len(sizes)} files, {sum(sizes)} bytes: {said}")
    if scenario.task != "tensor":
        lines = [line for path in output.rglob("statistic.csv") for line in path.read_text("utf-8").splitlines()]
        if len(lines) != scenario.count + 1:
            raise AssertionError(f"{scenario.name}, {library.name}: {len(lines)} lines: {said}")


def milliseconds(scenario: Scenario, library: Library) -> float:
    return run(scenario, library).seconds * 1e3


def peak_mebibytes(scenario: Scenario, library: Library) -> float:
    return run(scenario, library).peak / MIB
