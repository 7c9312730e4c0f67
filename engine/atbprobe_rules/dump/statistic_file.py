"""The rows of statistic.csv and anomaly.csv, as data.

Cells come from a host that may call its operations anything, and from whoever had the file in between: a row that is
not one is left out and reported with its line, and the others are read.
"""

from __future__ import annotations

import csv
import functools
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.stored_names import MOST_DEPTH, Side, TensorName

STATISTIC_FILE = "statistic.csv"
ANOMALY_FILE = "anomaly.csv"
NOT_AVAILABLE = "N/A"

ADDRESS_COLUMNS = (
    "Device and PID",
    "Execution Count",
    "Op Name",
    "Op Type",
    "Op Id",
    "Input/Output",
    "Index",
)
STATISTIC_COLUMNS = (*ADDRESS_COLUMNS, "Dtype", "Format", "Shape", "Max", "Min", "Mean", "Norm", "Tensor Path")
ANOMALY_COLUMNS = (
    *ADDRESS_COLUMNS,
    "Dtype",
    "Shape",
    "NaN",
    "+Inf",
    "-Inf",
    "First Position",
    "First Index",
    "Tensor Path",
)

Number = float | complex
_REAL = re.compile(r"nan|[-+]?(?:inf|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")
_COMPLEX = re.compile(r"\(([^,()]+),([^,()]+)\)")
_COUNT = re.compile(r"[0-9]{1,20}")
_SHAPE = re.compile(r"(?:[0-9]{1,19}(?:x[0-9]{1,19})*)?")
_IDS = re.compile(r"(?:[0-9]+(?:_[0-9]+)*)?")
_MOST_PROBLEMS = 20

_REFUSES_NUL = sys.version_info < (3, 11)
"""Whether csv takes a NUL in a name for a mistake, and needs something else in its place."""

_NUL = "\udc00"
"""What no byte becomes by surrogateescape."""


@dataclass(frozen=True)
class RowAddress:
    """Which tensor a row is about. `names` and `ids` are those of the operations from the layer-level one on."""

    process: str
    count: str
    names: tuple[str, ...]
    ids: tuple[int, ...]
    tensor: TensorName


@dataclass(frozen=True)
class StatisticRow:
    """One row of statistic.csv.

    `shape` is None if it cannot be told. The four statistics are None where the file has N/A: not asked for, or not
    to be had of this type; `max`, `min` and `mean` of complex numbers are complex. `path` is None where no .bin was
    kept.
    """

    line: int
    address: RowAddress
    dtype: str
    format: str
    shape: tuple[int, ...] | None
    max: Number | None
    min: Number | None
    mean: Number | None
    norm: Number | None
    path: str | None

    @property
    def has_statistics(self) -> bool:
        return self.max is not None


@dataclass(frozen=True)
class AnomalyRow:
    """One row of anomaly.csv: how many NaN and infinities a tensor holds, and which element is the first of them.

    `position` counts elements from 0, `index` is the same by dimension; None where the shape did not tell.
    """

    line: int
    address: RowAddress
    dtype: str
    shape: tuple[int, ...] | None
    nan: int
    positive_infinity: int
    negative_infinity: int
    position: int
    index: tuple[int, ...] | None
    path: str | None

    @property
    def count(self) -> int:
        return self.nan + self.positive_infinity + self.negative_infinity


Row = TypeVar("Row")


@dataclass(frozen=True)
class RowFile(Generic[Row]):
    """The rows of a file, in its order, and what was wrong with others (at most 20 are told)."""

    rows: tuple[Row, ...]
    problems: tuple[DumpError, ...] = ()


def read_statistics(path: Path) -> RowFile[StatisticRow]:
    """Read a statistic.csv. Raises DumpError if it is none, OSError if it cannot be read."""
    return _read(path, STATISTIC_COLUMNS, _statistic_row)


def read_anomalies(path: Path) -> RowFile[AnomalyRow]:
    """Read an anomaly.csv. Raises DumpError if it is none, OSError if it cannot be read."""
    return _read(path, ANOMALY_COLUMNS, _anomaly_row)


def _read(path: Path, columns: Sequence[str], row_of: Callable[[int, Sequence[str]], Row]) -> RowFile[Row]:
    rows: list[Row] = []
    problems: list[DumpError] = []

    def complain(reason: str) -> None:
        if len(problems) < _MOST_PROBLEMS:
            problems.append(DumpError(path, reason))

    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, newline="\n", encoding="utf-8", errors="surrogateescape") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DumpError(path, "this is not a file")
        whole = _whole_lines(file, complain)
        lines = csv.reader((line.replace("\0", _NUL) for line in whole) if _REFUSES_NUL else whole, strict=True)
        if tuple(_next_row(lines) or ()) != tuple(columns):
            raise DumpError(path, f"line 1 is not the header of {path.name}: {','.join(columns)}")
        while (fields := _next_row(lines, complain)) is not None:
            if _REFUSES_NUL:
                fields = [field.replace(_NUL, "\0") for field in fields]
            try:
                if len(fields) != len(columns):
                    raise ValueError(f"{len(fields)} columns, not {len(columns)}")
                rows.append(row_of(lines.line_num, fields))
            except ValueError as error:
                complain(f"line {lines.line_num}: {error}")
    return RowFile(tuple(rows), tuple(problems))


def _whole_lines(file: TextIO, complain: Callable[[str], None]) -> Iterator[str]:
    """A row is written at one stroke, so a last one without its end is what a full disk or a crash has left."""
    while line := file.readline(csv.field_size_limit()):
        if not line.endswith("\n"):
            complain("the last row is cut short")
            return
        yield line


def _next_row(lines: Iterator[list[str]], complain: Callable[[str], None] = lambda _: None) -> list[str] | None:
    while True:
        try:
            return next(lines, None)
        except csv.Error as error:
            complain(f"line {getattr(lines, 'line_num', '?')}: {error}")


def _statistic_row(line: int, fields: Sequence[str]) -> StatisticRow:
    dtype, form, shape, *statistics, path = fields[len(ADDRESS_COLUMNS) :]
    largest, smallest, mean, norm = (_statistic(text) for text in statistics)
    return StatisticRow(line, _address(fields), dtype, form, _shape(shape), largest, smallest, mean, norm, _path(path))


def _anomaly_row(line: int, fields: Sequence[str]) -> AnomalyRow:
    dtype, shape, nan, plus, minus, position, index, path = fields[len(ADDRESS_COLUMNS) :]
    counts = (_count(nan), _count(plus), _count(minus), _count(position))
    indices = None if index == NOT_AVAILABLE else tuple(_count(part) for part in index.split(",") if index)
    return AnomalyRow(line, _address(fields), dtype, _shape(shape), *counts, indices, _path(path))


def _address(fields: Sequence[str]) -> RowAddress:
    process, count, names, _, ids, side, label = fields[: len(ADDRESS_COLUMNS)]
    if side not in (Side.INPUT.value, Side.OUTPUT.value):
        raise ValueError(f"Input/Output is {side[:80]!r}")
    if not _IDS.fullmatch(ids):
        raise ValueError(f"Op Id is {ids[:80]!r}, which is no id path")
    if names.count("/") >= MOST_DEPTH:
        raise ValueError(f"Op Name has more than {MOST_DEPTH} parts")
    id_numbers = tuple(int(part[:20]) for part in ids.split("_") if part)
    return RowAddress(process, count, tuple(names.split("/")), id_numbers, TensorName.of_row(side, label))


@functools.lru_cache(maxsize=1024)
def _shape(text: str) -> tuple[int, ...] | None:
    return tuple(int(size) for size in text.split("x") if size) if _SHAPE.fullmatch(text) else None


def _count(text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no number of elements")
    return int(text)


def _path(text: str) -> str | None:
    return None if text == NOT_AVAILABLE else text


def _statistic(text: str) -> Number | None:
    if text == NOT_AVAILABLE:
        return None
    pair = _COMPLEX.fullmatch(text)
    if pair is not None:
        return complex(_real(pair[1]), _real(pair[2]))
    return _real(text)


def _real(text: str) -> float:
    if len(text) > 400 or not _REAL.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no number")
    return math.nan if text == "nan" else float(text)
