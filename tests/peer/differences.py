"""Compares what the two libraries left, to the byte, but for the differences that are there on purpose.

Every such difference has a name, one place that recognises it and a check that it is really of that kind; whatever is
not recognised fails. What differs in more than single rows (selections that the peer reads otherwise) is never allowed
here: test_purposeful_differences.py shows it config by config.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from library_run import Dump, Row

# Columns of statistic.csv.
DTYPE, MAX, MEAN, NORM, TENSOR_PATH = 7, 10, 12, 13, 14
STATISTICS = slice(MAX, NORM + 1)

SIX_DECIMALS = "statistics with six decimals only"
NAN_IGNORED = "Max and Min without the NaN in the data"
ROW_DROPPED = "row of a tensor with -inf, or of NaN alone, dropped"
ROW_RACE = "row lost to a race of threads"
LATE_FILTER = "copies made before the device was looked at"

# The race was seen to lose 4 rows of 6,400; more than this in one file would be something else.
MOST_ROWS_LOST = 4

ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
}


class UnexplainedError(AssertionError):
    """A difference that no entry here allows."""


def compare(ours: Dump, peer: Dump) -> Counter[str]:
    """Return how often each purposeful difference was met; raises UnexplainedError for any other one."""
    met: Counter[str] = Counter()
    _compare_files(ours.files, peer.files)
    if ours.rows.keys() != peer.rows.keys():
        raise UnexplainedError(f"statistic.csv: {sorted(ours.rows)} here, {sorted(peer.rows)} from the peer")
    for name in ours.rows:
        met += _compare_rows(name, ours, peer)
    if ours.host_copies != peer.host_copies:
        if ours.host_copies != 0 or ours.files:
            raise UnexplainedError(f"{ours.host_copies} copies here, {peer.host_copies} under the peer")
        met[LATE_FILTER] += peer.host_copies
    return met


def _compare_files(ours: dict[str, bytes], peer: dict[str, bytes]) -> None:
    if ours.keys() != peer.keys():
        here, there = sorted(ours.keys() - peer.keys()), sorted(peer.keys() - ours.keys())
        raise UnexplainedError(f"files only here: {here}; only from the peer: {there}")
    for path, content in ours.items():
        if content != peer[path]:
            raise UnexplainedError(f"{path}: {content[:200]!r}… here, {peer[path][:200]!r}… from the peer")


def _compare_rows(name: str, ours: Dump, peer: Dump) -> Counter[str]:
    """The peer's rows come in any order; a row is known by all that is no statistic."""
    met: Counter[str] = Counter()
    theirs = _by_place(peer.rows[name])
    for place, rows in _by_place(ours.rows[name]).items():
        found = theirs.pop(place, [])
        if len(found) > len(rows):
            raise UnexplainedError(f"{name}: the peer has more rows for {place}")
        if len(rows) > max(1, len(found)):
            raise UnexplainedError(f"{name}: {len(rows)} rows here for {place}")
        for row, their_row in zip(rows, found, strict=False):
            met += _compare_statistics(row, their_row, ours)
        for row in rows[len(found) :]:
            met[_kind_of_missing_row(row, ours)] += 1
    if theirs:
        raise UnexplainedError(f"{name}: rows of the peer only: {sorted(theirs)}")
    if met[ROW_RACE] > MOST_ROWS_LOST:
        raise UnexplainedError(f"{name}: {met[ROW_RACE]} rows are missing in the peer's")
    return met


def _by_place(rows: Iterable[Row]) -> dict[Row, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[row[:MAX] + row[TENSOR_PATH:]].append(row)
    return found


def _compare_statistics(ours: Row, peer: Row, dump: Dump) -> Counter[str]:
    met: Counter[str] = Counter()
    ignores_nan = "nan" in ours[STATISTICS] and ours[STATISTICS] != peer[STATISTICS]
    expected = _without_nan(ours, dump) if ignores_nan else ours
    for column in range(MAX, NORM + 1):
        if expected[column] == peer[column]:
            continue
        if not _is_rounded(expected[column], peer[column]):
            raise UnexplainedError(f"column {column}: {peer[column]} from the peer for {ours}")
        met[SIX_DECIMALS] = 1
    if ignores_nan:
        met[NAN_IGNORED] = 1
    return met


def _is_rounded(exact: str, text: str) -> bool:
    """Whether a number was printed with six decimals (after sums in another order)."""
    if re.fullmatch(r"-?\d+\.\d{6}", text) is None:
        return False
    value = float(exact)
    return math.isfinite(value) and abs(value - float(text)) <= 0.51e-6 + 1e-12 * abs(value)


def _values(row: Row, dump: Dump) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The tensor of a row, from its file; it needs task "all"."""
    content = dump.files[str(PurePosixPath(row[TENSOR_PATH]))]
    _, _, data = content.partition(b"$End=1\n")
    values = np.frombuffer(data, ELEMENT_TYPES[row[DTYPE]])
    return values.astype(np.float64)


def _without_nan(row: Row, dump: Dump) -> Row:
    """A row with the Max and Min that come of the numbers alone."""
    values = _values(row, dump)
    numbers = values[~np.isnan(values)]
    if len(numbers) in (0, len(values)):
        raise UnexplainedError(f"not a tensor with NaN and numbers: {row}")
    return (*row[:MAX], str(numbers.max()), str(numbers.min()), *row[MEAN:])


def _kind_of_missing_row(row: Row, dump: Dump) -> str:
    if {"nan", "inf", "-inf"}.isdisjoint(row[STATISTICS]):
        return ROW_RACE
    values = _values(row, dump)
    if np.isneginf(values).any() or np.isnan(values).all():
        return ROW_DROPPED
    raise UnexplainedError(f"the peer has no row {row}")
