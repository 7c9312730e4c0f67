"""What hosts of many threads must have on disk; see tests/native/saving_steps.h."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from probed_host import WAIT_SECONDS, Probed
from saver_driver import read_bin, read_rows

DUMP_ALL = {"dump_enable": True, "exec_range": "all", "task": "all"}


def run_host(probed: Probed, *command: str | Path) -> dict[int, int]:
    """Run a host to its end, which must be a good one; return the number that each of its processes reports: pid → it.

    The time limit is for one that hangs.
    """
    done = subprocess.run(
        command, env=probed.environment(), capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    assert "lost" not in done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {int(pid): int(number) for pid, number in lines}


def processes_on_disk(probed: Probed) -> set[str]:
    return {path.name for path in probed.data.iterdir() if not path.name.startswith(".")}


def assert_round_is_whole(folder: Path, numbers: range, elements: int) -> None:
    """Each operation's input is there with its number as data, and has one row."""
    assert {path.name for path in folder.iterdir()} == {"statistic.csv"} | {f"{number}_Layer" for number in numbers}
    for number in numbers:
        _, data = read_bin(folder / f"{number}_Layer/before/intensor0.bin")
        assert data == struct.pack("f", number) * elements
    rows = read_rows(folder / "statistic.csv")
    assert sorted(int(row["Op Id"]) for row in rows) == list(numbers)
    assert all(float(row["Max"]) == float(row["Mean"]) == int(row["Op Id"]) for row in rows)
    assert all(Path(row["Tensor Path"]).is_relative_to(folder) for row in rows)
