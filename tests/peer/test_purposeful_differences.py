"""Where the two libraries differ on purpose in what is selected or written: each case with what it comes to.

A value that is read in two ways is run in four: each library with the value as written, and the other one with a
spelling that both read alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from differences import LATE_FILTER, MOST_ROWS_LOST, ROW_RACE, SIX_DECIMALS, compare
from library_run import BOTH, OURS, PEER, Dump, Library, model_of, run_model

from atbprobe_rules.check import check_config

pytestmark = pytest.mark.peer

Rules = dict[str, Any]
EVERYTHING: Rules = {"dump_enable": True, "filter_level": 0, "exec_range": "all"}


class Run(Protocol):
    """Run the model under one library, with an output folder of its own each time; `root` is its name."""

    def __call__(self, library: Library, rules: Rules, *options: str, root: str = "output") -> Dump: ...


# Name → what is written, what it means here, what the peer makes of it.
READ_IN_TWO_WAYS: dict[str, tuple[Rules, Rules, Rules]] = {
    "blanks in ids": ({"ids": "0, 1_1"}, {"ids": "0,1_1"}, {"ids": "0"}),
    "blanks in op_name": ({"op_name": "word, lmhead"}, {"op_name": "word,lmhead"}, {"op_name": "word"}),
    "blanks in device": ({"device": "0, 3"}, {"device": "0,3"}, {"device": "0"}),
    "a single round": ({"exec_range": "1"}, {"exec_range": "1,1"}, {"exec_range": "none"}),
    "all in capitals": ({"exec_range": "ALL"}, {"exec_range": "all"}, {"exec_range": "none"}),
    "a path without children": (
        {"op_name": "word,prefill_layer/attention"},
        {"op_name": "word", "ids": "1_1"},
        {"op_name": "word"},
    ),
}

# Name → what is refused here, what the peer makes of it.
REFUSED_HERE: dict[str, tuple[Rules, Rules]] = {
    "a number for ids": ({"ids": 2}, {"ids": ""}),
    "a number for op_name": ({"op_name": 2}, {"op_name": ""}),
    "a number for device": ({"device": 0}, {"device": ""}),
    "an unknown key": ({"id": "2"}, {}),
    "a reversed range": ({"exec_range": "0,-1"}, {"exec_range": "all"}),
}


@pytest.fixture
def run(tmp_path: Path, native_file: Callable[[str], Path]) -> Run:
    count = 0

    def run_one(library: Library, rules: Rules, *options: str, root: str = "output") -> Dump:
        nonlocal count
        count += 1
        place = library.place(tmp_path / str(count) / root, native_file, 1)
        return run_model(library, place, {**EVERYTHING, **rules}, options)

    return run_one


@pytest.mark.parametrize("name", READ_IN_TWO_WAYS)
def test_a_value_that_is_read_in_two_ways(run: Run, name: str) -> None:
    written, here, there = READ_IN_TWO_WAYS[name]
    ours, peer = run(OURS, written), run(PEER, written)
    assert ours.files.keys() > peer.files.keys()
    assert compare(ours, run(PEER, here)).keys() <= {SIX_DECIMALS, ROW_RACE}
    assert compare(run(OURS, there), peer).keys() <= {SIX_DECIMALS, ROW_RACE, LATE_FILTER}


@pytest.mark.parametrize("name", REFUSED_HERE)
def test_a_mistake_that_the_peer_takes_for_something_wider(run: Run, name: str) -> None:
    written, there = REFUSED_HERE[name]
    assert not check_config(json.dumps({**EVERYTHING, **written}).encode(), "config.json").ok
    peer = run(PEER, written)
    assert peer.files
    assert compare(run(OURS, there), peer).keys() <= {SIX_DECIMALS, ROW_RACE}


def test_a_second_execution_into_the_same_directory(run: Run) -> None:
    """Setup once, Execute twice: a second save to a path replaces the first here, and follows it in the peer's."""
    ours, peer = (
        run(library, {"task": "all", "save_child": True}, "--executes-per-setup", "2") for library in (OURS, PEER)
    )
    assert ours.files.keys() == peer.files.keys()
    grown = {path for path in ours.files if path.endswith(".bin")}
    for path, content in ours.files.items():
        count = 2 if path in grown else 1
        assert len(peer.files[path]) == count * len(content)
        assert peer.files[path].endswith(content)
    assert grown
    for name, rows in ours.rows.items():
        assert len(rows) - MOST_ROWS_LOST <= len(peer.rows[name]) <= len(rows)


def test_a_name_that_the_peer_writes_nothing_for(run: Run) -> None:
    rules = {"ids": "1_1", "save_child": True, "task": "all"}
    options = ("--plugin-operations", "--attention-name", "Mlp<Silu>")
    ours, peer = (run(library, rules, *options) for library in (OURS, PEER))
    missing = ours.op_dirs() - peer.op_dirs()
    assert {path.rpartition("_")[2] for path in missing} == {"Mlp<Silu>"}
    assert {path for path in ours.files if "Mlp<Silu>" not in path} == peer.files.keys()
    named = [row for rows in ours.rows.values() for row in rows if row[3] == "Mlp<Silu>"]
    assert len(named) == sum("Mlp<Silu>" in path for path in ours.files)
    assert not any("Mlp<Silu>" in row[2] for rows in peer.rows.values() for row in rows)


@pytest.mark.parametrize("root", ["c++", "目录"])
def test_an_output_folder_that_the_peer_refuses(run: Run, root: str) -> None:
    rules = {"ids": "0,1_1"}
    assert run(PEER, rules, root=root).files == {}
    compare(run(OURS, rules, root=root), run(PEER, rules))


def test_an_edit_while_dumping_is_off(tmp_path: Path, native_file: Callable[[str], Path]) -> None:
    """Seen by the next operation here; the peer is asleep then, for thousands of operations."""
    saved = {}
    for library in BOTH:
        place = library.place(tmp_path, native_file, 1)
        library.take(place, {"dump_enable": False})
        with model_of(place) as model:
            model.step()
            library.take(place, EVERYTHING)
            model.step(5)
            saved[library.name] = len(place.files())
    assert saved["ours"] > 0
    assert saved["peer"] == 0


def test_an_edit_while_dumping_is_on(tmp_path: Path, native_file: Callable[[str], Path]) -> None:
    """Seen by the next operation here; the peer looks every five seconds."""
    rounds = {}
    for library in BOTH:
        place = library.place(tmp_path, native_file, 1)
        library.take(place, {**EVERYTHING, "exec_range": "none"})
        with model_of(place) as model:
            model.step()
            library.take(place, EVERYTHING)
            model.step()
        rounds[library.name] = {path.split("/")[1] for path in place.files()}
    assert rounds == {"ours": {"0"}, "peer": set()}
