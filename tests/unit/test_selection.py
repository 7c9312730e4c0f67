from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.selection import Condition, ConditionTerm, NumberFilter, NumberRange
from plain_rules import ANY, EVERYTHING, NOWHERE, condition, number, plain_rule

ranges = st.builds(
    lambda first, length, step: NumberRange(first, first + length, step, NOWHERE),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(1, 7),
)


@given(ranges, st.integers(0, 50))
def test_a_range_holds_its_stride(numbers: NumberRange, number: int) -> None:
    assert (number in numbers) == (number in range(numbers.first, numbers.last + 1, numbers.step))


@given(st.booleans(), st.lists(ranges, max_size=3), st.lists(ranges, max_size=3), st.integers(0, 50))
def test_a_filter_is_its_included_less_its_excluded(
    unlimited: bool, included: list[NumberRange], excluded: list[NumberRange], number: int
) -> None:
    if unlimited:
        included = []
    accepted = set(range(51)) if unlimited else {n for r in included for n in range(51) if n in r}
    accepted -= {n for r in excluded for n in range(51) if n in r}
    numbers = NumberFilter(unlimited, tuple(included), tuple(excluded))
    assert numbers.accepts(number) == (number in accepted)


def test_the_unknown_device_is_accepted_by_an_unlimited_filter_only() -> None:
    assert EVERYTHING.accepts(None)
    assert NumberFilter(unlimited=True, excluded=(number(0),)).accepts(None)
    assert not NumberFilter(unlimited=False, included=(ANY,)).accepts(None)


@pytest.mark.parametrize(("name", "label"), [(None, "3"), ("prefill", "prefill")])
def test_a_rule_is_called_by_its_name_or_its_number(name: str | None, label: str) -> None:
    rule = plain_rule(3, name=name)
    assert rule.label == label
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.number = 4  # type: ignore[misc]


NAN, INFINITY, ABOVE_ONE = condition(nan=True), condition(infinity=True), condition(above=1.0)


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        (NAN, [math.nan, complex(math.nan, 1.0), complex(math.inf, math.nan)]),
        (INFINITY, [math.inf, -math.inf, complex(0.0, -math.inf)]),
        (ABOVE_ONE, [1.5, -2, 1e300, math.inf, -math.inf, complex(1.0, 0.5), complex(1e308, 1e308)]),
        (condition(nan=True, infinity=True), [math.nan, math.inf, -math.inf, complex(math.nan, 1.0)]),
        (condition(above=0.0), [0.5, 1, 1.5, -2, 1e300, math.inf, 5e-324]),
    ],
)
def test_a_condition_takes_these_values(asked: Condition, values: list[complex]) -> None:
    assert all(term.accepts(value) for term in asked.terms for value in values)


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        (NAN, [0.0, math.inf, 1e300]),
        (INFINITY, [math.nan, 1.7e308, complex(math.nan, math.inf), complex(1e308, 1e308)]),
        (ABOVE_ONE, [math.nan, 1, -1, 0.5, complex(0.6, 0.8), complex(math.nan, 5.0)]),
        (condition(nan=True, infinity=True), [1.7e308, 0]),
        (condition(above=0.0), [0.0, -0.0, math.nan]),
    ],
)
def test_a_condition_takes_no_other_values(asked: Condition, values: list[complex]) -> None:
    assert not any(term.accepts(value) for term in asked.terms for value in values)


bounds = st.none() | st.sampled_from([0.0, 0.5, 1.0, 1e300])
terms = st.builds(
    lambda nan, infinity, above: condition(nan=nan, infinity=infinity, above=above).terms[0],
    st.booleans(),
    st.booleans(),
    bounds,
)
VALUES = [0.0, 0.25, 0.75, 2.0, -1e301, math.inf, math.nan]


@given(terms, terms)
def test_a_term_covers_what_takes_no_more(cover: ConditionTerm, term: ConditionTerm) -> None:
    assert cover.covers(term) == all(cover.accepts(value) for value in VALUES if term.accepts(value))


def test_a_rule_keeps_all_it_selects_unless_something_is_asked_or_limited() -> None:
    assert plain_rule().keeps_all_it_selects
    for limit in ("stop_after", "max_bytes", "max_tensor_bytes"):
        assert not plain_rule(**{limit: 1}).keeps_all_it_selects
    assert not plain_rule(when=NAN).keeps_all_it_selects
