"""The same run under both libraries, over all values of the peer's fields and kinds of host, in pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compared import Compared
from differences import LATE_FILTER, NAN_IGNORED, ROW_DROPPED, ROW_RACE, SIX_DECIMALS, compare
from library_run import BOTH, Dump, run_model
from pairwise import pairwise

pytestmark = pytest.mark.peer

# Every value here is read alike by both libraries; test_purposeful_differences.py has the others. filter_level is 0
# throughout: with 1 and 2 the peer leaves out by names what is left out by content here.
FIELDS: dict[str, dict[str, Any]] = {
    "task": {"tensor": "tensor", "statistics": "statistics", "all": "all"},
    "ids": {"none": "", "layers": "0,3,5", "inner": "1_1,5_0_0", "near": "1,5_1,5_12"},
    "op_name": {"none": "", "word": "WORD", "inner": "linear,self", "layers": "pre,lmhead_"},
    "save_child": {"no": False, "yes": True},
    "exec_range": {"all": "all", "first": "0,0", "second": "1,1", "pairs": "0,0,1,7"},
    "device": {"any": "", "this": "3", "these": "0,3"},
}
HOSTS: dict[str, dict[str, Any]] = {
    "abi": {"1": 1, "0": 0},
    "files": {"named": [], "plain": ["--plain-names"]},
    "model": {
        "f16": [],
        "bf16": ["--dtype", "bf16"],
        "float": ["--dtype", "float", "--logits", "bf16"],
        "plug-ins": ["--plugin-operations"],
        "other thread": ["--execute-on-other-thread"],
        "two setups": ["--setups-per-execute", "2", "--token-ids", "int32"],
    },
}
FACTORS = {factor: tuple(values) for factor, values in (HOSTS | FIELDS).items()}
COMBINATIONS = pairwise(FACTORS)

NOTHING: dict[str, dict[str, Any]] = {
    "off": {"dump_enable": False, "exec_range": "all"},
    "no round": {"exec_range": "none", "save_child": True},
    "no round, in capitals": {"exec_range": "NONE"},
    "later rounds": {"exec_range": "5,100,7,9", "save_child": True},
    "no such op": {"exec_range": "all", "ids": "1_9,77", "op_name": "attention_"},
    "another device": {"exec_range": "all", "device": "4,30"},
}


def run_both(
    tmp_path: Path, native_file: Callable[[str], Path], abi: int, rules: dict[str, Any], options: list[str]
) -> tuple[Dump, Dump]:
    complete = {"dump_enable": True, "filter_level": 0, **rules}
    ours, peer = (run_model(library, library.place(tmp_path, native_file, abi), complete, options) for library in BOTH)
    return ours, peer


@pytest.mark.parametrize("combination", COMBINATIONS, ids=lambda combination: "-".join(combination.values()))
def test_a_combination(
    tmp_path: Path, native_file: Callable[[str], Path], compared: Compared, combination: dict[str, str]
) -> None:
    rules = {field: FIELDS[field][combination[field]] for field in FIELDS}
    options = HOSTS["files"][combination["files"]] + HOSTS["model"][combination["model"]]
    ours, peer = run_both(tmp_path, native_file, HOSTS["abi"][combination["abi"]], rules, options)

    differences = compare(ours, peer)
    # Rows are lost whenever two threads happen to meet: any run may show it.
    assert differences.keys() <= {SIX_DECIMALS, ROW_RACE}
    cells = "  ".join(f"{combination[factor]:{max(map(len, FACTORS[factor]))}}" for factor in FACTORS)
    compared.note(ours, differences, f"{cells} {len(ours.files):5} files {len(ours.rows):3} csv")


def test_the_combinations_select_something(compared: Compared) -> None:
    """Runs after the matrix; otherwise equal could mean empty."""
    if len(compared.combinations) != len(COMBINATIONS):
        pytest.skip("the matrix was not run whole")
    empty = [line for line in compared.combinations if line.endswith(" 0 csv")]
    assert len(empty) <= len(COMBINATIONS) // 10
    assert compared.differences[SIX_DECIMALS] > 0


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_selected(tmp_path: Path, native_file: Callable[[str], Path], compared: Compared, name: str) -> None:
    ours, peer = run_both(tmp_path, native_file, 1, NOTHING[name], [])
    differences = compare(ours, peer)
    assert (ours.files, ours.rows, ours.host_copies) == ({}, {}, 0)
    assert (differences[LATE_FILTER] > 0) == (name == "another device")
    compared.note(ours, differences)


@pytest.mark.parametrize(
    ("fault", "expected"), [("3:inf", set()), ("3:nan", {NAN_IGNORED}), ("2:scale=-1e30", {ROW_DROPPED})]
)
def test_infinities_and_nan(
    tmp_path: Path,
    native_file: Callable[[str], Path],
    compared: Compared,
    fault: str,
    expected: set[str],
) -> None:
    """Statistics that the peer gets wrong, and an infinity that it gets right."""
    rules = {"task": "all", "exec_range": "0,0", "save_child": True}
    ours, peer = run_both(tmp_path, native_file, 1, rules, ["--fault", fault])
    differences = compare(ours, peer)
    assert differences.keys() - {SIX_DECIMALS, ROW_RACE} == expected
    compared.note(ours, differences)
