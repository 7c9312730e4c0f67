"""What is said to cover something takes all of it: every pair of many terms, held against the reference."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.check import check_config
from atbprobe_rules.covering import accepts_no_number, filter_covers, range_covers, rule_covers
from atbprobe_rules.decide import decide
from atbprobe_rules.diagnostics import Span
from atbprobe_rules.selection import MAX_NUMBER, NumberFilter, NumberRange, Rule, Selection

NAMES = "a ab b *b a* a?b [ab]* [!a]* =a =ab a/b a/=b /a /a/b **/b a/** ** * /*/b a/**/b [a-c] ? ?*"
IDS = "0 1 0-1 * 0_1 0-1_1 *_1 0_** 0_1_** 0-3/2 0-"
COMPONENTS = ["0_a", "1_b", "2_ab", "1_acb", "0_c", "3_"]
PATHS = ["/".join(path) for depth in (1, 2, 3) for path in itertools.product(COMPONENTS, repeat=depth)]


def rule_of(**fields: object) -> Rule:
    config = {"dump_enable": True, "exec_range": "all", **fields}
    return check_config(json.dumps(config).encode(), "f").require().rules[0]


def taken_by(rule: Rule) -> frozenset[str]:
    selection = Selection(True, 0, (rule,))
    return frozenset(path for path in PATHS if decide(selection, 0, f"0_1/0/{path}").rules)


def check_pairs(rules: list[Rule]) -> tuple[int, int]:
    """Hold all pairs against what they take; return how many cover, and how many could be found to."""
    taken = [taken_by(rule) for rule in rules]
    found = possible = 0
    for (cover, cover_taken), (rule, rule_taken) in itertools.product(zip(rules, taken, strict=True), repeat=2):
        covers = rule_covers(cover, rule)
        possible += rule_taken <= cover_taken
        found += covers
        assert not covers or rule_taken <= cover_taken, (cover, rule)
    return found, possible


def test_terms_of_names() -> None:
    rules = [rule_of(op_name=term, save_child=child) for term in NAMES.split() for child in (False, True)]
    found, possible = check_pairs(rules)
    assert found > possible / 2


def test_terms_of_ids() -> None:
    rules = [rule_of(ids=term, save_child=child) for term in IDS.split() for child in (False, True)]
    found, possible = check_pairs(rules)
    assert found > possible / 2


def test_rules_of_both() -> None:
    fields = [
        {"ids": ids, "op_name": names, "match": match, "save_child": child}
        for ids in ("0", "0-1,!0_1", "*_1")
        for names in ("a", "a*, !ab", "b/a")
        for match in ("any", "all")
        for child in (False, True)
    ]
    fields += [{"save_child": False}, {"save_child": True}, {"op_name": "!a", "save_child": True}, {"ids": "!0"}]
    found, possible = check_pairs([rule_of(**rule) for rule in fields])
    assert len(fields) < found <= possible


small = st.integers(0, 12)
ranges = st.builds(
    lambda first, length, step: NumberRange(first, first + length, step, Span(0, 0)), small, small, st.integers(1, 4)
)
filters = st.builds(
    lambda unlimited, included, excluded: NumberFilter(
        unlimited, () if unlimited else tuple(included), tuple(excluded)
    ),
    st.booleans(),
    st.lists(ranges, max_size=3),
    st.lists(ranges, max_size=3),
)
ALL_SMALL = (*range(40), MAX_NUMBER)


@given(ranges, ranges)
def test_ranges_exactly(cover: NumberRange, numbers: NumberRange) -> None:
    expected = all(number in cover for number in ALL_SMALL if number in numbers)
    assert expected or not range_covers(cover, numbers)
    if cover.step == 1:
        # The last number of a stride may lie below its bound.
        assert range_covers(cover, numbers) or not expected or numbers.step > 1


@given(filters, filters)
def test_filters(cover: NumberFilter, numbers: NumberFilter) -> None:
    if filter_covers(cover, numbers):
        assert all(cover.accepts(number) for number in (None, *ALL_SMALL) if numbers.accepts(number))
    if accepts_no_number(numbers):
        assert not any(numbers.accepts(number) for number in ALL_SMALL)


LIMITS: tuple[dict[str, object], ...] = (
    {"when": "nan"},
    {"when": "abs > 0"},
    {"stop_after": 2**64 - 1},
    {"max_bytes": 2**64 - 1},
    {"max_tensor_bytes": 2**64 - 1},
)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_rule_with_a_condition_or_limit_covers_none(limit: dict[str, object]) -> None:
    """Not even one that is the same."""
    limited, unlimited = rule_of(task="all", **limit), rule_of(task="all")
    assert [rule_covers(limited, rule) for rule in (limited, unlimited)] == [False, False]
    assert rule_covers(unlimited, limited)


def test_statistics_in_place_of_large_tensors_are_not_in_a_rule_for_data() -> None:
    data, both = rule_of(), rule_of(task="all")
    assert not rule_covers(data, rule_of(max_tensor_bytes=1))
    assert rule_covers(both, rule_of(max_tensor_bytes=1))
    statistics = rule_of(task="statistics", max_tensor_bytes=1)
    assert rule_covers(rule_of(task="statistics"), statistics)
    assert not rule_covers(rule_of(task="all", io="in"), rule_of(max_tensor_bytes=1))
    assert rule_covers(rule_of(task="all", io="in"), rule_of(io="in", max_tensor_bytes=1))
