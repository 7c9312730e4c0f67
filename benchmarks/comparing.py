"""Comparing two dumps, whole processes: ours, the published `msprobe compare -m atb`, and reading both sides once.

Half of the tensors of each dump are the same to the bit, as weights and all that comes before a fault are; the others
differ by a rounding or so.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.published_peer import command_line_is_here, peer_program

HEADER = (
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,"
    "Tensor Path"
)
ROUNDS = 3
SIDES = ("golden", "target")
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Workload:
    """`count` tensors of `elements` elements each."""

    name: str
    count: int
    elements: int
    dtype: str

    @property
    def type_number(self) -> int:
        return {"float": 0, "float16": 1}[self.dtype]

    @property
    def array_dtype(self) -> Any:
        return {"float": np.float32, "float16": np.float16}[self.dtype]


WORKLOADS = [
    Workload("3,000 tensors of 32 KiB, float16", 3000, 16 << 10, "float16"),
    Workload("32 tensors of 16 MiB, float", 32, 4 << 20, "float"),
    Workload("32 tensors of 16 MiB, float16", 32, 8 << 20, "float16"),
]


@contextmanager
def dumps(workload: Workload) -> Iterator[dict[str, Path]]:
    """Write the round of each side into memory, and take it away again."""
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with TemporaryDirectory(prefix="atbprobe-bench-", dir=place) as folder:
        rounds = {side: Path(folder) / side / "atb_dump_data" / "data" / "0_1" / "0" for side in SIDES}
        _write(workload, rounds)
        yield rounds


def _write(workload: Workload, rounds: dict[str, Path]) -> None:
    generator = np.random.default_rng(1)
    shape = f"64x{workload.elements // 64}"
    rows: dict[str, list[str]] = {side: [HEADER] for side in SIDES}
    for number in range(workload.count):
        golden = generator.standard_normal(workload.elements, np.float32)
        noise = 1 + 1e-3 * generator.standard_normal(workload.elements, np.float32) if number % 2 else 1
        for side, values in zip(SIDES, (golden, golden * noise), strict=True):
            path = rounds[side] / f"{number}_Layer" / "after" / "outtensor0.bin"
            path.parent.mkdir(parents=True)
            data = values.astype(workload.array_dtype).tobytes()
            head = (
                f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(data)}\nformat=2\ndtype={workload.type_number}\n"
            )
            head += f"dims={shape.replace('x', ',')}\n$Object.data=0,{len(data)}\n$End=1\n"
            path.write_bytes(head.encode() + data)
            place = f"0_1,0,Layer,Layer,{number},output,0,{workload.dtype},nd,{shape}"
            rows[side].append(f"{place},N/A,N/A,N/A,N/A,{path}")
    for side in SIDES:
        (rounds[side] / "statistic.csv").write_text("\n".join(rows[side]) + "\n", encoding="utf-8")


def _as_installed() -> dict[str, str]:
    """The environment, but for what keeps Python from storing what it has compiled: pip stores it at installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def ours(rounds: dict[str, Path]) -> float:
    """Seconds of the whole command, without reports."""
    program = [sys.executable, "-m", "atbprobe_rules", "compare", *map(str, (rounds["golden"], rounds["target"]))]
    seconds, done = _timed([*program, "--threshold", "distance=1", "--threshold", "peak=1"])
    assert done.returncode == 0, done.stdout + done.stderr
    return seconds


def peer(rounds: dict[str, Path]) -> float:
    """Seconds of the whole command."""
    with TemporaryDirectory() as folder:
        program = [str(peer_program("msprobe")), "compare", "-m", "atb", "-o", folder]
        seconds, done = _timed([*program, "-gp", str(rounds["golden"]), "-tp", str(rounds["target"])])
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(Path(folder).glob("*.xlsx")), "no result"
    return seconds


def reading(rounds: dict[str, Path]) -> float:
    """Seconds in which this process reads every .bin of both sides once, from the page cache."""
    buffer = bytearray(_READ_BYTES)
    paths = [path for one in rounds.values() for path in one.rglob("*.bin")]
    start = time.perf_counter()
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return time.perf_counter() - start


def _timed(program: list[str]) -> tuple[float, subprocess.CompletedProcess[str]]:
    start = time.perf_counter()
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=_as_installed())
    return time.perf_counter() - start, done


def measure(workload: Workload, rounds: int) -> dict[str, Any]:
    """Medians in seconds, in turns; ratios are those of the same turn. Without the peer its values are None."""
    turns = []
    with dumps(workload) as places:
        ours(places)  # of which only what Python compiles is left
        for _ in range(rounds):
            turns.append((ours(places), peer(places) if command_line_is_here() else None, reading(places)))
    return {
        "name": workload.name,
        "ours": _median([turn[0] for turn in turns]),
        "peer": _median([turn[1] for turn in turns]),
        "ratio": _median([None if turn[1] is None else turn[1] / turn[0] for turn in turns]),
        "reading": _median([turn[2] for turn in turns]),
        "times_reading": _median([turn[0] / turn[2] for turn in turns]),
    }


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 6) if known else None
