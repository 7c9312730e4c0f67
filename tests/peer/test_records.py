"""Records of real hosts, replayed in a process of its own under each library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compared import Compared
from differences import ROW_RACE, compare
from library_run import BOTH, Dump, caller_of, collect
from replay import RECORDS, made_up_bytes, read_record, replay

pytestmark = pytest.mark.peer

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0, "task": "tensor"}


@pytest.mark.parametrize("abi", [1, 0])
@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDS.glob("*.jsonl")))
def test_a_record_leaves_the_same_tree(
    tmp_path: Path, native_file: Callable[[str], Path], compared: Compared, name: str, abi: int
) -> None:
    record = read_record(name)
    dumps: list[Dump] = []
    for library in BOTH:
        place = library.place(tmp_path, native_file, abi)
        library.take(place, EVERYTHING)
        with caller_of(place) as host:
            replay(host, record)
        dumps.append(collect(place, record[0]["pid"]))
    ours, peer = dumps

    differences = compare(ours, peer)
    assert differences.keys() <= {ROW_RACE}
    assert _last_data(ours) == _kept(record)
    compared.note(ours, differences)


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


def _kept(record: list[dict[str, object]]) -> dict[str, bytes]:
    """Inputs of before passes and outputs of after passes, the last one of each path, with the pid as in a Dump."""
    kept = {}
    for call in record:
        given = call["args"]
        assert isinstance(given, dict)
        if call["fn"] == "SaveTensor" and (
            "/before/intensor" in given["filePath"] or "/after/outtensor" in given["filePath"]
        ):
            process, _, rest = given["filePath"].partition("/")
            kept[f"{process.rpartition('_')[0]}_PID/{rest}"] = made_up_bytes(given)
    return kept


def _last_data(dump: Dump) -> dict[str, bytes]:
    return {path: content.partition(b"$End=1\n")[2] for path, content in dump.files.items() if path.endswith(".bin")}
