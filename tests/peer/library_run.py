"""One run of a host under one of the two libraries, and what it left, free of its pid and its place."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probed_host import ANSWERS, WAIT_SECONDS, Model, ProbeCaller, Probed

from benchmarks.published_peer import peer_library

Row = tuple[str, ...]
DEVICE = 3
HEADER = (
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,"
    "Max,Min,Mean,Norm,Tensor Path"
)
# Stands for the process's own id wherever one is part of a name.
PID = "PID"
# One layer, three steps: a prefill and two decodes, which a second model in the same process runs.
SMALL_MODEL = ["--quiet", "--layers", "1", "--hidden", "16", "--heads", "2", "--feed-forward", "32"]
SMALL_MODEL += ["--vocabulary", "32", "--prompt-tokens", "4", "--steps", "3", "--device", str(DEVICE)]


class DiedError(Exception):
    """The process with the peer's library was ended by a signal, or by an exception that came out of the library."""


class BrokenTableError(AssertionError):
    """A statistic.csv does not begin with its header, the one of the format."""


@dataclass(frozen=True)
class Dump:
    """What one run left under data/, paths relative to it and PID in place of the pid."""

    files: dict[str, bytes]  # all but the CSV files
    rows: dict[str, list[Row]]  # the rows of each statistic.csv below its header, sorted
    host_copies: int  # tensors that the host copied from the device for the library
    anomaly_tables: int = 0  # files anomaly.csv

    def op_dirs(self) -> set[str]:
        return {path.rsplit("/", 2)[0] for path in self.files if path.endswith(".bin")}


@dataclass(frozen=True)
class Library:
    """A library, and how rules get to it."""

    name: str
    is_ours: bool

    def place(self, folder: Path, native_file: Callable[[str], Path], abi: int) -> Probed:
        place = Probed(folder / self.name, native_file, abi=abi)
        place.folder.mkdir(parents=True)
        if not self.is_ours:
            place.extra_environment["LD_PRELOAD"] = str(peer_library(abi))
        return place

    def take(self, place: Probed, rules: dict[str, Any] | str) -> None:
        """Put rules in force for a process that is about to start. The peer, asked for the first time, reads the file
        by itself, and is then awake if dumping is on. Only the peer takes a text that is no JSON of an object."""
        if isinstance(rules, str):
            assert not self.is_ours
            place.config.write_text(rules, encoding="utf-8")
            place.config.chmod(0o600)
        elif self.is_ours:
            place.publish(rules)
        else:
            place.write(rules)


OURS = Library("ours", is_ours=True)
PEER = Library("peer", is_ours=False)
BOTH = (OURS, PEER)


def run_model(library: Library, place: Probed, rules: dict[str, Any] | str, options: Sequence[str] = ()) -> Dump:
    """Run the stand-in's model to its end; raises DiedError if the peer brought it to another one."""
    library.take(place, rules)
    return run_under_rules_in_force(library, place, options)


def run_under_rules_in_force(library: Library, place: Probed, options: Sequence[str] = ()) -> Dump:
    """As `run_model`, whose rules are there already."""
    report_file = place.folder / "report.json"
    program = place.native_file(f"standin_model_abi{place.abi}")
    done = subprocess.run(
        [program, *SMALL_MODEL, "--report", report_file, *options],
        env=place.environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=WAIT_SECONDS,
        check=False,
    )
    if done.returncode != 0 and not library.is_ours:
        raise DiedError(f"exit code {done.returncode}: {done.stderr}")
    assert done.returncode == 0, f"{library.name}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    report = json.loads(report_file.read_text(encoding="utf-8"))
    return collect(place, report["pid"], report["device_to_host_copies"])


def collect(place: Probed, pid: int, host_copies: int = 0) -> Dump:
    files = {}
    rows = {}
    anomaly_tables = 0
    for path, content in place.files().items():
        name = _without(path, place, pid)
        if name.endswith("/anomaly.csv"):
            anomaly_tables += 1
        elif name.endswith(".csv"):
            rows[name] = _read_rows(content.decode("utf-8"), place, pid)
        else:
            files[name] = content
    return Dump(files, rows, host_copies, anomaly_tables)


def _read_rows(text: str, place: Probed, pid: int) -> list[Row]:
    header, _, rest = text.partition("\n")
    if header != HEADER:
        raise BrokenTableError(f"a table begins with {header!r}")
    rows = csv.reader(rest.splitlines())
    return sorted(tuple(_without(cell, place, pid) for cell in row) for row in rows)


def _without(text: str, place: Probed, pid: int) -> str:
    return re.sub(rf"^(-?\d+)_{pid}(?=/|$)", rf"\1_{PID}", text.removeprefix(f"{place.data}/"))


class PatientCaller(ProbeCaller):
    """Of a library that may print to stdout, between the answers, and that may throw."""

    exceptions = 0  # that came out of calls

    def __enter__(self) -> PatientCaller:
        return self

    def read_line(self) -> str:
        line = super().read_line()
        while line not in ANSWERS:
            if line == "threw":
                self.exceptions += 1
                return "done"
            line = super().read_line()
        return line


class _PatientModel(Model):
    """As above."""

    def read_line(self) -> str:
        line = super().read_line()
        while not line.startswith(("ready ", "done ")):
            line = super().read_line()
        return line


def model_of(place: Probed) -> Model:
    """The small model, a step at a time."""
    return _PatientModel(place.native_file(f"standin_model_abi{place.abi}"), place.environment(), SMALL_MODEL)


def caller_of(place: Probed) -> PatientCaller:
    return PatientCaller(place.native_file(f"probe_caller_abi{place.abi}"), place.environment())
