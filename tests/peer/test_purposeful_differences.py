"""Where the two libraries differ on purpose in what is selected or written: each case with what it comes to.

A value that is read in two ways is run in four: each library with the value as written, and the other one with a
spelling that both read alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compared import Compared, count_lost_rows
from differences import LATE_FILTER, SIX_DECIMALS
from library_run import BOTH, OURS, PEER, model_of
from model_runs import EVERYTHING, ModelRuns, Rules
from side_by_side import compare_complete, run_complete

pytestmark = pytest.mark.peer


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


@pytest.mark.parametrize("name", READ_IN_TWO_WAYS)
def test_a_value_that_is_read_in_two_ways(run: ModelRuns, compared: Compared, name: str) -> None:
    written, here, there = READ_IN_TWO_WAYS[name]
    ours = run(OURS, written)
    assert compare_complete(ours, lambda: run(PEER, here), compared).keys() <= {SIX_DECIMALS}
    as_the_peer = run(OURS, there)
    assert compare_complete(as_the_peer, lambda: run(PEER, written), compared).keys() <= {SIX_DECIMALS, LATE_FILTER}
    assert ours.files.keys() > as_the_peer.files.keys()


def test_a_second_execution_into_the_same_directory(run: ModelRuns, compared: Compared) -> None:
    """Setup once, Execute twice: a second save to a path replaces the first here, and follows it in the peer's."""
    rules = {"task": "all", "save_child": True}
    options = ("--executes-per-setup", "2")
    ours = run(OURS, rules, *options)
    peer = run_complete(lambda: run(PEER, rules, *options), lambda peer: count_lost_rows(ours, peer), compared)
    assert ours.files.keys() == peer.files.keys()
    grown = {path for path in ours.files if path.endswith(".bin")}
    for path, content in ours.files.items():
        count = 2 if path in grown else 1
        assert len(peer.files[path]) == count * len(content)
        assert peer.files[path].endswith(content)
    assert grown


def test_a_name_that_the_peer_writes_nothing_for(run: ModelRuns) -> None:
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
def test_an_output_folder_that_the_peer_refuses(run: ModelRuns, compared: Compared, root: str) -> None:
    rules = {"ids": "0,1_1", "task": "all"}
    refused = run(PEER, rules, root=root)
    assert (refused.files, refused.rows) == ({}, {})
    ours = run(OURS, rules, root=root)
    assert ours.files
    assert compare_complete(ours, lambda: run(PEER, rules), compared).keys() == {SIX_DECIMALS}


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
