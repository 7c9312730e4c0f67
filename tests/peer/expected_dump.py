"""Whether a dump of ours is what the model says that it computed, as far as the rules select it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from differences import MAX, MEAN, NO_STATISTICS, STATISTICS, TENSOR_PATH
from expected_files import Expected, expected_files, read_expected, tasks_of
from library_run import PID, Dump, Row
from numpy.typing import DTypeLike

from atbprobe_rules.check import check_config
from atbprobe_rules.selection import Tasks

# The types that the model computes in: the host's number → name in statistic.csv, numpy's type.
TYPES: dict[int, tuple[str, DTypeLike]] = {
    0: ("float", np.float32),
    1: ("float16", np.float16),
    3: ("int32", np.int32),
    9: ("int64", np.int64),
    27: ("bf16", ml_dtypes.bfloat16),
}
SINGLE_PRECISION = (0, 1, 27)


def check_complete(dump: Dump, rules: dict[str, Any], expectation: Path) -> None:
    """Fail unless every file and every row is there and right, and no other one."""
    files = {_without_pid(path): content for path, content in expected_files(rules, expectation).items()}
    assert dump.files.keys() == files.keys()
    assert [path for path, content in files.items() if dump.files[path] != content] == []

    selection = check_config(json.dumps(rules).encode(), "config.json").require()
    selected = [(tensor, tasks) for tensor in read_expected(expectation)[0] if (tasks := tasks_of(selection, tensor))]
    rows = defaultdict(list)
    for row in (row for rows_of_round in dump.rows.values() for row in rows_of_round):
        rows[row[:MAX] + row[TENSOR_PATH:]].append(row)
    assert Counter({place: len(found) for place, found in rows.items()}) == Counter(
        _place(tensor, tasks) for tensor, tasks in selected
    )
    for tensor, tasks in selected:
        # Executed twice after one Setup, an operation has two rows in one place; the model tells the last data only.
        same_place = rows[_place(tensor, tasks)]
        assert any(_is_of(row, tensor, tasks) for row in same_place), (tensor.path, same_place)


def _without_pid(path: str) -> str:
    process, slash, rest = path.partition("/")
    return f"{process.partition('_')[0]}_{PID}{slash}{rest}"


def _place(tensor: Expected, tasks: Tasks) -> Row:
    """All columns but the statistics."""
    path = _without_pid(tensor.path)
    process, count, *components, _, file = path.split("/")
    ids, names = zip(*(component.split("_", 1) for component in components), strict=True)
    side, _, index = file.removesuffix(".bin").partition("tensor")
    return (
        *(process, count, "/".join(names), names[-1], "_".join(ids), f"{side}put", index),
        *(TYPES[tensor.dtype][0], "nd", tensor.dims.replace(",", "x")),
        path if Tasks.TENSOR in tasks else "N/A",
    )


def _is_of(row: Row, tensor: Expected, tasks: Tasks) -> bool:
    if Tasks.STATISTICS not in tasks:
        return row[STATISTICS] == NO_STATISTICS
    values = np.frombuffer(tensor.data, TYPES[tensor.dtype][1]).astype(np.float64)
    # Max and Min of the narrow floats are written as the shortest text that reads back as a float.
    read = np.float32 if tensor.dtype in SINGLE_PRECISION else np.float64
    with np.errstate(invalid="ignore"):
        exact = (values.max(), values.min(), values.mean(), np.sqrt((values**2).sum()))
    extremes = [float(read(text)) for text in row[MAX:MEAN]]
    rest = [float(text) for text in row[MEAN:TENSOR_PATH]]
    return bool(
        np.array_equal(extremes, exact[:2], equal_nan=True)
        and rest == pytest.approx(exact[2:], rel=1e-12, abs=1e-12, nan_ok=True)
    )
