from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.check import check_config
from atbprobe_rules.decide import Decision, decide
from atbprobe_rules.selection import (
    MAX_NUMBER,
    AnyCharacter,
    AnyCharacters,
    AnyDepth,
    CharacterSet,
    IdTerm,
    NameTerm,
    NumberFilter,
    NumberRange,
    Rule,
    Selection,
    Tasks,
)
from case_file import Case, load_cases
from plain_rules import ANY, NOWHERE, id_term, name_term, number, part, plain_rule

RECORDED = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"

RULE = plain_rule()


def selects(rule: Rule, path: str) -> bool:
    decision = decide(Selection(dump_enable=True, filter_level=1, rules=(rule,)), 0, f"0_1/0/{path}")
    assert decision.in_specific_dir == bool(decision.rules)
    return decision.in_specific_dir


@pytest.mark.parametrize("case", load_cases("decisions"), ids=lambda case: case.name)
def test_decisions(case: Case) -> None:
    assert case.queries
    for config in case.configs:
        selection = check_config(config, "config.json").require()
        for query, earlier in zip(case.queries, case.earlier_executions(), strict=True):
            decision = decide(selection, query.round, query.directory, earlier)
            assert (decision.tasks_in, decision.tasks_out) == (query.tasks_in, query.tasks_out), query
            if len(selection.rules) == 1 and selection.rules[0].next is None:
                assert bool(decision.rules) == (decision.count_in_range and decision.in_specific_dir)


def test_the_recorded_answers_of_the_peer() -> None:
    """The second answer counts only where the first is yes: the host asks no further otherwise."""
    asked = 0
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        selection = check_config(json.dumps(record["config"]).encode(), "recorded").require()
        for round_number, directory, in_range, in_directory in record["queries"]:
            decision = decide(selection, round_number, directory)
            assert decision.count_in_range == bool(in_range), (record["config"], round_number)
            if in_range:
                assert decision.in_specific_dir == bool(in_directory), (record["config"], directory)
                assert bool(decision.rules) == bool(in_directory)
            asked += 1
    assert asked == 9600


# What only a whole selection can say


def test_rules_are_joined() -> None:
    rules = (
        dataclasses.replace(RULE, ids=(id_term(1),), tasks_out=Tasks.NONE),
        dataclasses.replace(RULE, number=2, name="b", ids=(id_term(2),)),
        dataclasses.replace(RULE, number=3, ids=(id_term(1),), tasks_in=Tasks.NONE, tasks_out=Tasks.STATISTICS),
        dataclasses.replace(RULE, number=4, ids=(id_term(1),), rounds=NumberFilter(False, (number(7),))),
    )
    selection = Selection(dump_enable=True, filter_level=1, rules=rules)
    assert decide(selection, 0, "0_1/0/1_A") == Decision(True, True, (1, 3), Tasks.TENSOR, Tasks.STATISTICS)
    assert decide(selection, 7, "0_1/0/1_A").rules == (1, 3, 4)
    assert decide(selection, 0, "0_1/0/3_A") == Decision(True, False, (), Tasks.NONE, Tasks.NONE)


def test_next_counts_executions() -> None:
    """Of the op, not rounds; and the two questions do not know of it."""
    rules = (
        dataclasses.replace(RULE, next=2),
        dataclasses.replace(RULE, number=2, ids=(id_term(1),), rounds=NumberFilter(False, (number(7),))),
    )
    selection = Selection(dump_enable=True, filter_level=1, rules=rules)
    answers = {
        number: [decide(selection, number, "0_1/0/1_A", earlier).rules for earlier in (0, 1, 2, MAX_NUMBER)]
        for number in (7, 8)
    }
    assert answers == {7: [(1, 2), (1, 2), (2,), (2,)], 8: [(1,), (1,), (), ()]}
    assert decide(selection, 0, "0_1/0/1_A", 2) == Decision(True, True, (), Tasks.NONE, Tasks.NONE)


def test_the_two_answers_do_not_know_of_each_other() -> None:
    """One rule has the round, another one the op: both questions get a yes, and nothing is selected."""
    rules = (
        dataclasses.replace(RULE, ids=(id_term(1),), rounds=NumberFilter(False, (number(7),))),
        dataclasses.replace(RULE, number=2, ids=(id_term(2),)),
    )
    selection = Selection(dump_enable=True, filter_level=1, rules=rules)
    assert decide(selection, 0, "0_1/0/1_A") == Decision(True, True, (), Tasks.NONE, Tasks.NONE)


def test_switched_off_refuses_everything() -> None:
    selection = Selection(dump_enable=False, filter_level=1, rules=(RULE,))
    assert decide(selection, 0, "0_1/0/1_A") == Decision(False, False, (), Tasks.NONE, Tasks.NONE)


@pytest.mark.parametrize(
    ("term", "selected", "refused"),
    [
        (id_term(NumberRange(0, 8, 4, NOWHERE)), ["0_A", "4_A", "8_A"], ["2_A", "12_A", "4_A/0_B"]),
        (id_term(ANY, 1), ["0_A/1_B", "9_A/1_B"], ["1_A", "0_A/2_B", "01_A/1_B", "A/1_B"]),
        (id_term(2, subtree=True), ["2_A", "2_A/0_B/1_C", "2_A/kernel"], ["21_A", "1_A/2_B"]),
        (id_term(2, excluded=True), ["1_A", "21_A"], ["2_A", "1_A/0_B"]),
    ],
)
def test_id_terms(term: IdTerm, selected: list[str], refused: list[str]) -> None:
    rule = dataclasses.replace(RULE, ids=(term,))
    assert [path for path in selected + refused if selects(rule, path)] == selected


@pytest.mark.parametrize(
    ("term", "selected", "refused"),
    [
        (name_term("mlp", prefix=False), ["0_MLP", "0_A/1_mlp"], ["0_MlpX", "0_Mlp/0_A"]),
        (name_term("a", "b", anchored=True), ["0_A/0_B", "0_A/0_Bc"], ["0_X/0_A/0_B", "0_A", "0_Ab/0_B"]),
        (name_term("a", AnyDepth(NOWHERE), "b"), ["0_A/0_B", "0_A/0_X/0_Y/0_B"], ["0_A", "0_B", "0_A/0_B/0_X"]),
        (name_term("a", AnyDepth(NOWHERE)), ["0_A", "0_A/0_X", "0_A/0_X/0_Y"], ["0_X", "0_Ab"]),
        (name_term("a", excluded=True), ["0_B"], ["0_A", "0_Ab", "0_B/0_A"]),
        (name_term(part(AnyCharacters(), "kernel"), prefix=False), ["0_Kernel", "0_AddKernel"], ["0_KernelX"]),
        (name_term(part("a", AnyCharacter(), "c"), prefix=False), ["0_abc", "0_aéc"], ["0_ac", "0_abbc", "0_a\udcffc"]),
        (name_term(part(CharacterSet(((97, 99),), False)), prefix=False), ["0_b", "0_C"], ["0_d", "0_ab", "0_"]),
        (name_term(part(CharacterSet(((65, 67),), True)), prefix=False), ["0_d", "0_é"], ["0_a", "0_C", "0_"]),
    ],
)
def test_name_terms(term: NameTerm, selected: list[str], refused: list[str]) -> None:
    rule = dataclasses.replace(RULE, names=(term,))
    assert [path for path in selected + refused if selects(rule, path)] == selected


def test_match_all_asks_both_fields() -> None:
    rule = dataclasses.replace(
        RULE, ids=(id_term(2),), names=(name_term("attention"),), match_all=True, save_child=True
    )
    assert not selects(rule, "2_Prefill_layer/0_RmsNorm")
    assert selects(rule, "2_Prefill_layer/1_Attention")
    assert not selects(rule, "3_Prefill_layer/1_Attention")


def test_an_exclusion_wins_and_holds_below() -> None:
    exclude = name_term(part(AnyCharacters(), "kernel"), prefix=False, excluded=True)
    rule = dataclasses.replace(RULE, ids=(id_term(2),), names=(exclude,), save_child=True)
    assert selects(rule, "2_A/0_B")
    assert not selects(rule, "2_A/0_AddKernel")
    assert not selects(rule, "2_A/0_AddKernel/0_B")
    assert not selects(rule, "1_A")


@given(st.binary(max_size=40), st.integers(0, MAX_NUMBER))
def test_any_directory_gets_an_answer(directory: bytes, round_number: int) -> None:
    rule = dataclasses.replace(RULE, ids=(id_term(0),), names=(name_term("a", "b"),), save_child=True)
    decision = decide(Selection(dump_enable=True, filter_level=1, rules=(rule,)), round_number, directory)
    assert decision.count_in_range
    assert bool(decision.rules) == decision.in_specific_dir == (decision.tasks_in is Tasks.TENSOR)
