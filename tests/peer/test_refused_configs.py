"""Mistakes that are refused here: what the peer makes of each, by a spelling that both libraries read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from compared import Compared, count_lost_rows
from differences import LATE_FILTER, NO_STATISTICS, SIX_DECIMALS, STATISTICS, TENSOR_PATH
from library_run import OURS, PEER
from model_runs import EVERYTHING, ModelRuns, Rules
from side_by_side import compare_complete, run_complete

from atbprobe_rules.check import check_config

pytestmark = pytest.mark.peer

# Name → what is written, what the peer makes of it.
VALUES: dict[str, tuple[Rules, Rules]] = {
    "a number for ids": ({"ids": 2}, {"ids": ""}),
    "a list for ids": ({"ids": ["0"]}, {"ids": ""}),
    "an empty term": ({"ids": "0,,3"}, {"ids": "0,3"}),
    "a number for op_name": ({"op_name": 2}, {"op_name": ""}),
    "a number for device": ({"device": 0}, {"device": ""}),
    "a word for device": ({"device": "npu"}, {"device": "99"}),
    "an unknown key": ({"id": "2"}, {}),
    "a number for task": ({"task": 1}, {"task": "tensor"}),
    "a text for save_child": ({"save_child": "true"}, {"save_child": False}),
    "a number for save_child": ({"save_child": 1}, {"save_child": False}),
    "a text for dump_enable": ({"dump_enable": "true"}, {"dump_enable": False}),
    "a number for dump_enable": ({"dump_enable": 1}, {"dump_enable": False}),
    "a number for exec_range": ({"exec_range": 1}, {"exec_range": "0,0"}),
    "no rounds in exec_range": ({"exec_range": ""}, {"exec_range": "0,0"}),
    "an odd list of rounds": ({"exec_range": "0,0,1"}, {"exec_range": "0,0"}),
    "a reversed range": ({"exec_range": "0,-1"}, {"exec_range": "all"}),
    "a filter_level that there is not": ({"filter_level": 9}, {"filter_level": 0}),
}


def text_of(**more: Any) -> str:
    return json.dumps({**EVERYTHING, **more})


# Name → the file, what the peer makes of it.
FILES: dict[str, tuple[str, Rules]] = {
    "a key that is there twice": (text_of(ids="0")[:-1] + ', "ids": ""}', {"ids": ""}),
    "text behind the object": (text_of(ids="0") + " x", {"ids": "0"}),
    "a comment": (text_of(ids="0")[:-1] + "/* all */}", {"dump_enable": False}),
    "half a file": (text_of(ids="0")[:-1], {"dump_enable": False}),
    "no object": (f"[{text_of(ids='0')}]", {"dump_enable": False}),
}
WRITTEN = {name: (text_of(**written), there) for name, (written, there) in VALUES.items()} | FILES
WIDENED = {name for name, (_, there) in WRITTEN.items() if set(there.values()) & {"", "all"}}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_peer_makes_of_a_mistake(run: ModelRuns, compared: Compared, name: str) -> None:
    written, there = WRITTEN[name]
    assert not check_config(written.encode(), "config.json").ok
    equal = run(OURS, there)
    assert compare_complete(equal, lambda: run(PEER, written), compared).keys() <= {SIX_DECIMALS, LATE_FILTER}
    assert equal.files or there.get("device") or not there.get("dump_enable", True)
    if name in WIDENED:
        assert equal.op_dirs() == run(OURS, {}).op_dirs()


def test_some_mistakes_widen_at_the_peer() -> None:
    assert len(WIDENED) > 4


def test_a_bad_task_leaves_rows_about_files_that_are_not_there(run: ModelRuns, compared: Compared) -> None:
    written = text_of(task="tensors")
    assert not check_config(written.encode(), "config.json").ok
    both = run(OURS, {"task": "all"})
    peer = run_complete(lambda: run(PEER, written), lambda peer: count_lost_rows(both, peer), compared)
    named = {row[TENSOR_PATH] for rows in peer.rows.values() for row in rows}
    assert named == {path for path in both.files if path.endswith(".bin")}
    assert named.isdisjoint(peer.files)
    assert {row[STATISTICS] for rows in peer.rows.values() for row in rows} == {NO_STATISTICS}
