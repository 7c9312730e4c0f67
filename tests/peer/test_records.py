"""Records of real hosts, replayed in a process of its own under each library."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compared import Compared
from differences import TENSOR_PATH
from library_run import BOTH, OURS, PEER, PID, Dump, Library, caller_of, collect
from replay import RECORDS, made_up_bytes, read_record, replay
from side_by_side import compare_complete

pytestmark = pytest.mark.peer

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0, "task": "tensor"}


@pytest.mark.parametrize("abi", [1, 0])
@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDS.glob("*.jsonl")))
def test_a_record_leaves_the_same_tree(
    tmp_path: Path, native_file: Callable[[str], Path], compared: Compared, name: str, abi: int
) -> None:
    record = read_record(name)
    count = itertools.count()

    def run(library: Library) -> Dump:
        place = library.place(tmp_path / str(next(count)), native_file, abi)
        library.take(place, EVERYTHING)
        with caller_of(place) as host:
            replay(host, record)
            assert host.exceptions == 0
        return collect(place, record[0]["pid"])

    ours = run(OURS)
    saves = _saves(record)
    assert _last_data(ours) == dict(saves)
    assert sorted(row[TENSOR_PATH] for rows in ours.rows.values() for row in rows) == sorted(path for path, _ in saves)
    assert compare_complete(ours, lambda: run(PEER), compared) == {}


@pytest.mark.parametrize(
    "rules",
    [{"dump_enable": False}, {"exec_range": "none"}, {"exec_range": "7,9"}, {"ids": "99"}, {"op_name": "nobody"}],
    ids=lambda rules: next(iter(rules)) + str(next(iter(rules.values()))),
)
def test_a_host_under_rules_that_take_nothing_copies_nothing(
    tmp_path: Path, native_file: Callable[[str], Path], rules: dict[str, object]
) -> None:
    for library in BOTH:
        place = library.place(tmp_path, native_file, 1)
        library.take(place, {**EVERYTHING, **rules})
        with caller_of(place) as host:
            assert replay(host, read_record("builtin")) == {}


def _saves(record: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """Inputs of before passes and outputs of after passes, in order, with the pid as in a Dump."""
    saves = []
    for call in record:
        given = call["args"]
        if call["fn"] == "SaveTensor" and (
            "/before/intensor" in given["filePath"] or "/after/outtensor" in given["filePath"]
        ):
            process, _, rest = given["filePath"].partition("/")
            saves.append((f"{process.rpartition('_')[0]}_{PID}/{rest}", made_up_bytes(given)))
    return saves


def _last_data(dump: Dump) -> dict[str, bytes]:
    return {path: content.partition(b"$End=1\n")[2] for path, content in dump.files.items() if path.endswith(".bin")}
