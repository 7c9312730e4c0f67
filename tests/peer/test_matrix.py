"""The same run under both libraries, over all values of the peer's fields and kinds of host, in pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from compared import Compared, count_rows
from differences import ANOMALIES, LATE_FILTER, NAN_IGNORED, ROW_DROPPED, SIX_DECIMALS
from library_run import OURS, PEER, Dump
from model_runs import ModelRuns
from pairwise import pairwise
from side_by_side import compare_complete

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
        # Ids of operations are drawn in the first prefill and the first decode, so that ids select the same again.
        "three threads": ["--threads", "3", "--steps-in-turn", "2", "--steps", "4"],
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


# The columns of the table: a factor's name, and room for its values.
WIDTHS = {factor: max(map(len, (factor, *values))) for factor, values in FACTORS.items()}


def run_both(
    run: ModelRuns, compared: Compared, rules: dict[str, Any], options: Sequence[str] = (), abi: int = 1
) -> tuple[Dump, Counter[str]]:
    """Return what ours left, and the differences."""
    ours = run(OURS, rules, *options, abi=abi)
    return ours, compare_complete(ours, lambda: run(PEER, rules, *options, abi=abi), compared)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=lambda combination: "-".join(combination.values()))
def test_a_combination(run: ModelRuns, compared: Compared, combination: dict[str, str]) -> None:
    rules = {field: FIELDS[field][combination[field]] for field in FIELDS}
    options = HOSTS["files"][combination["files"]] + HOSTS["model"][combination["model"]]
    ours, differences = run_both(run, compared, rules, options, HOSTS["abi"][combination["abi"]])

    assert differences.keys() <= {SIX_DECIMALS}
    compared.header = line_of({factor: factor for factor in FACTORS}, "files", "rows")
    compared.combinations.append(line_of(combination, len(ours.files), count_rows(ours)))


def line_of(cells: Mapping[str, str], files: object, rows: object) -> str:
    return "  ".join([*(f"{cells[factor]:{width}}" for factor, width in WIDTHS.items()), f"{files:>5}", f"{rows:>5}"])


def test_the_combinations_select_something(compared: Compared) -> None:
    """Runs after the matrix; otherwise equal could mean empty."""
    if len(compared.combinations) != len(COMBINATIONS):
        pytest.skip("the matrix was not run whole")
    empty = [line for line in compared.combinations if line.endswith(" 0")]
    assert len(empty) <= len(COMBINATIONS) // 10
    assert compared.differences[SIX_DECIMALS] > 0


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_selected(run: ModelRuns, compared: Compared, name: str) -> None:
    ours, differences = run_both(run, compared, NOTHING[name])
    assert (ours.files, ours.rows, ours.host_copies) == ({}, {}, 0)
    assert (differences[LATE_FILTER] > 0) == (name == "another device")


@pytest.mark.parametrize(
    ("fault", "expected"), [("3:inf", set()), ("3:nan", {NAN_IGNORED}), ("2:scale=-1e30", {ROW_DROPPED})]
)
def test_infinities_and_nan(run: ModelRuns, compared: Compared, fault: str, expected: set[str]) -> None:
    """Statistics that the peer gets wrong, and an infinity that it gets right."""
    rules = {"task": "all", "exec_range": "0,0", "save_child": True}
    _, differences = run_both(run, compared, rules, ["--fault", fault])
    assert differences.keys() - {SIX_DECIMALS} == expected | {ANOMALIES}
