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
DTYPE, MAX, MIN, MEAN, NORM, TENSOR_PATH = 7, 10, 11, 12, 13, 14
STATISTICS = slice(MAX, NORM + 1)
COLUMNS = TENSOR_PATH + 1
NO_STATISTICS = ("N/A",) * 4
UNQUOTED_COMMAS = 3  # in a row of the peer with complex Max, Min and Mean

SIX_DECIMALS = "statistics with six decimals only"
NAN_IGNORED = "Max and Min without the NaN in the data"
ROW_DROPPED = "row of a tensor with -inf, or of NaN alone, dropped"
LATE_FILTER = "copies made before the device was looked at"
# What the peer may or may not write: side_by_side.py runs it again, since nothing here can tell what is lost to a race
# of its threads from what it never writes.
ROW_RACE = "row lost to a race of threads"
FILE_RACE = "file lost to a race of threads"
TORN_ROW = "row torn by a race of threads"
RACES = {ROW_RACE, FILE_RACE, TORN_ROW}

# Not in the list of purposeful differences: the texts of the formats ask for them.
UNDEFINED_NAME = "dtype -1 named `undefined`, not `undefined(-1)`: it is a type with a name of its own"
ANOMALIES = "anomaly.csv, which lists the tensors that have NaN or infinities"
EMPTY_TENSOR = "file and row of an empty tensor: every selected tensor is on disk and has its row"
NOT_DECODED = "statistics of a type that the peer has none for: as many as can be decoded"
UNQUOTED = "complex numbers without quotes: a comma in a cell would shift all that follow"
LARGE_INTEGER = "Max or Min of a 64-bit integer as a double, as all numbers but those of float and halves are"

SPECIAL = ("nan", "inf")

NOT_DECODED_TYPES = {"bool", "complex32", "complex128", "int4", "uint1"}
NOT_DECODED_TYPES |= {"hifloat8", "float8_e5m2", "float8_e4m3fn", "float8_e8m0"}
NOT_DECODED_TYPES |= {"float6_e3m2", "float6_e2m3", "float4_e2m1", "float4_e1m2"}
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
    met = _compare_files(ours.files, peer.files)
    if not peer.rows.keys() <= ours.rows.keys():
        raise UnexplainedError(f"statistic.csv: {sorted(ours.rows)} here, {sorted(peer.rows)} from the peer")
    for name in ours.rows:
        met += _compare_rows(name, ours, peer)
    extremes = [cell for rows in ours.rows.values() for row in rows for cell in row[MAX:MEAN]]
    has_special = any(word in cell for cell in extremes for word in SPECIAL)
    if (ours.anomaly_tables > 0) != has_special or peer.anomaly_tables:
        raise UnexplainedError(f"anomaly.csv: {ours.anomaly_tables} here, {peer.anomaly_tables} from the peer")
    met[ANOMALIES] += ours.anomaly_tables
    if ours.host_copies != peer.host_copies and RACES.isdisjoint(met):
        if ours.host_copies != 0 or ours.files:
            raise UnexplainedError(f"{ours.host_copies} copies here, {peer.host_copies} under the peer")
        met[LATE_FILTER] += peer.host_copies
    return +met


def _compare_files(ours: dict[str, bytes], peer: dict[str, bytes]) -> Counter[str]:
    empty = {path for path in ours.keys() - peer.keys() if b"\n$Object.Length=0\n" in ours[path]}
    if not peer.keys() <= ours.keys():
        raise UnexplainedError(f"files only from the peer: {sorted(peer.keys() - ours.keys())}")
    for path, content in ours.items():
        if path in peer and content != peer[path]:
            raise UnexplainedError(f"{path}: {content[:200]!r}… here, {peer[path][:200]!r}… from the peer")
    missing = ours.keys() - peer.keys() - empty
    return +Counter({EMPTY_TENSOR: len(empty), FILE_RACE: len(missing)})


def _compare_rows(name: str, ours: Dump, peer: Dump) -> Counter[str]:
    """The peer's rows come in any order; a row is known by all that is no statistic."""
    met: Counter[str] = Counter()
    whole = [row for row in peer.rows.get(name, ()) if len(row) in (COLUMNS, COLUMNS + UNQUOTED_COMMAS)]
    torn = len(peer.rows.get(name, ())) - len(whole)
    theirs = _by_place(_in_our_form(row, met) for row in whole)
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
    torn += sum(map(len, theirs.values()))
    return met + Counter({TORN_ROW: torn})


def _in_our_form(row: Row, met: Counter[str]) -> Row:
    """A row of the peer as it would be here, but for the numbers; adds to `met` what had to be changed."""
    if row[DTYPE] == "undefined(-1)":
        met[UNDEFINED_NAME] += 1
        return (*row[:DTYPE], "undefined", *row[DTYPE + 1 :])
    if row[DTYPE] == "complex64" and len(row) == COLUMNS + UNQUOTED_COMMAS:
        met[UNQUOTED] += 1
        parts = iter(row[MAX : NORM + UNQUOTED_COMMAS])
        return (*row[:MAX], *map(",".join, zip(parts, parts, strict=True)), *row[NORM + UNQUOTED_COMMAS :])
    return row


def _by_place(rows: Iterable[Row]) -> dict[Row, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[row[:MAX] + row[TENSOR_PATH:]].append(row)
    return found


def _compare_statistics(ours: Row, peer: Row, dump: Dump) -> Counter[str]:
    met: Counter[str] = Counter()
    if peer[STATISTICS] == NO_STATISTICS != ours[STATISTICS] and ours[DTYPE] in NOT_DECODED_TYPES:
        met[NOT_DECODED] = 1
        return met
    ignores_nan = "nan" in ours[STATISTICS] and ours[STATISTICS] != peer[STATISTICS]
    expected = _without_nan(ours, dump) if ignores_nan else ours
    for column in range(MAX, NORM + 1):
        if expected[column] == peer[column]:
            continue
        if _is_rounded(expected[column], peer[column]):
            met[SIX_DECIMALS] = 1
        elif column in (MAX, MIN) and _is_large_integer(ours[DTYPE], ours[column], peer[column]):
            met[LARGE_INTEGER] = 1
        else:
            raise UnexplainedError(f"column {column}: {peer[column]} from the peer for {ours}")
    if ignores_nan:
        met[NAN_IGNORED] = 1
    return met


def _is_rounded(exact: str, text: str) -> bool:
    """Whether a number was printed with six decimals (after sums in another order)."""
    if exact.startswith("("):
        pairs = zip(_parts(exact), _parts(text), strict=True)
        return all(_is_rounded(*pair) for pair in pairs)
    if re.fullmatch(r"-?\d+\.\d{6}", text) is None:
        return False
    value = float(exact)
    return math.isfinite(value) and abs(value - float(text)) <= 0.51e-6 + 1e-12 * abs(value)


def _parts(number: str) -> list[str]:
    """Of a complex number."""
    return number.removeprefix("(").removesuffix(")").split(",")


def _is_large_integer(dtype: str, ours: str, peer: str) -> bool:
    """Whether an integer that no double holds was rounded to the nearest one that does."""
    return dtype in ("int64", "uint64") and abs(int(peer)) > 2**53 and float(ours) == float(int(peer))


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
    if b"\n$Object.Length=0\n" in dump.files.get(row[TENSOR_PATH], b""):
        return EMPTY_TENSOR
    if {"nan", "inf", "-inf"}.isdisjoint(row[STATISTICS]):
        return ROW_RACE
    values = _values(row, dump)
    if np.isneginf(values).any() or np.isnan(values).all():
        return ROW_DROPPED
    raise UnexplainedError(f"the peer has no row {row}")
