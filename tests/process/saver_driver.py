"""The saver alone, in a real process that saves what it is told to; see tests/native/saver_driver.cpp."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TENSOR, STATISTICS, ALL = 1, 2, 3
COLUMNS = [
    "Device and PID", "Execution Count", "Op Name", "Op Type", "Op Id", "Input/Output", "Index", "Dtype",
    "Format", "Shape", "Max", "Min", "Mean", "Norm", "Tensor Path",
]  # fmt: skip

INPUT = "0_1234/0/2_Prefill_layer/before/intensor0.bin"


@dataclass
class Driver:
    """A running ``saver_driver`` and its output folder."""

    process: subprocess.Popen[bytes]
    output: Path
    messages: Path

    @property
    def data(self) -> Path:
        return self.output / "atb_dump_data" / "data"

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def ask(self, command: str, *texts: bytes) -> str:
        self.stdin.write(command.encode() + b"\n" + b"".join(texts))
        self.stdin.flush()
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def counters(self, command: str) -> dict[str, int]:
        counters: dict[str, int] = json.loads(self.ask(command))
        return counters

    def save(
        self,
        path: str | bytes = INPUT,
        data: bytes = b"\0\0\x80\x3f",
        *,
        dtype: int | str = 0,
        layout: int | str = 2,
        dims: str = "1",
        tasks: int = ALL,
        filter_level: int = 0,
    ) -> dict[str, int]:
        name = path.encode() if isinstance(path, str) else path
        texts = [str(layout).encode(), str(dtype).encode(), dims.encode(), name, data]
        sizes = " ".join(str(len(text)) for text in texts)
        counters: dict[str, int] = json.loads(self.ask(f"tensor {tasks} {filter_level} {sizes}", *texts))
        return counters

    def save_param(self, path: str, text: bytes) -> None:
        name = path.encode()
        self.ask(f"param {len(text)} {len(name)}", text, name)

    def finish(self) -> dict[str, int]:
        """End the input; the answer is the counters after the drain."""
        self.stdin.close()
        assert self.process.stdout is not None
        last = self.process.stdout.read().decode()
        assert self.process.wait() == 0, self.said()
        counters: dict[str, int] = json.loads(last)
        return counters

    def said(self) -> str:
        return self.messages.read_text(errors="surrogateescape")

    def rows(self, round_folder: str = "0_1234/0") -> list[dict[str, str]]:
        return read_rows(self.data / round_folder / "statistic.csv")

    @property
    def own(self) -> Path:
        """The folder of what the driver saves under its own pid."""
        return self.data / f"0_{self.process.pid}"


StartDriver = Callable[..., Driver]


@contextmanager
def running_drivers(program: Path, folder: Path) -> Iterator[StartDriver]:
    drivers: list[Driver] = []

    def start(output: Path | None = None, **environment: str) -> Driver:
        number = len(drivers)
        place = folder / f"output{number}" if output is None else output
        messages = folder / f"messages{number}"
        with messages.open("wb") as stderr:
            process = subprocess.Popen(
                [program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "ATB_OUTPUT_DIR": str(place), **environment},
            )
        drivers.append(Driver(process, place, messages))
        return drivers[-1]

    try:
        yield start
    finally:
        for driver in drivers:
            driver.process.kill()
            with driver.process, suppress(BrokenPipeError):
                driver.stdin.close()


NUL = "\udc00"


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        content = file.read().replace("\0", NUL)  # which csv refuses before Python 3.11
    lines = [[field.replace(NUL, "\0") for field in line] for line in csv.reader(io.StringIO(content, newline=""))]
    assert lines[0] == COLUMNS
    assert all(len(line) == len(COLUMNS) for line in lines)
    assert COLUMNS not in lines[1:]
    return [dict(zip(COLUMNS, line, strict=True)) for line in lines[1:]]


def read_bin(path: Path) -> tuple[dict[str, str], bytes]:
    """Attributes and data of a .bin; fails unless it is whole."""
    head, end, data = path.read_bytes().partition(b"$End=1\n")
    assert end
    attributes = dict(line.split("=", 1) for line in head.decode().splitlines())
    assert int(attributes["$Object.Length"]) == len(data)
    return attributes, data


def saved_files(folder: Path) -> list[Path]:
    """All files under a final name; every .bin among them must be whole."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    for path in files:
        if path.suffix == ".bin":
            read_bin(path)
    return files


def loose_ends(folder: Path) -> list[Path]:
    """Files and folders under their temporary names; what goes away meanwhile is none."""
    names = ((place, name) for place, folders, files in os.walk(folder) for name in folders + files)
    return [Path(place, name) for place, name in names if name.endswith((".tmp", ".new"))]


def statistics_of(driver: Driver, data: bytes, dtype: int, dims: str = "1") -> dict[str, str]:
    number = driver.__dict__.setdefault("rounds", 0)
    driver.__dict__["rounds"] = number + 1
    path = f"0_1234/{number}/2_Prefill_layer/before/intensor0.bin"
    driver.save(path, data, dtype=dtype, dims=dims, tasks=STATISTICS)
    driver.ask("idle")
    (row,) = driver.rows(f"0_1234/{number}")
    return row
