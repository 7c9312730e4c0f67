from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.diagnostics import Span
from atbprobe_rules.selection import MAX_NUMBER, NumberFilter, NumberRange, Rule, Tasks

NOWHERE = Span(0, 0)
EVERYTHING = NumberFilter(unlimited=True)

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
    zero = NumberRange(0, 0, 1, NOWHERE)
    assert EVERYTHING.accepts(None)
    assert NumberFilter(unlimited=True, excluded=(zero,)).accepts(None)
    assert not NumberFilter(unlimited=False, included=(NumberRange(0, MAX_NUMBER, 1, NOWHERE),)).accepts(None)


@pytest.mark.parametrize(("name", "label"), [(None, "3"), ("prefill", "prefill")])
def test_a_rule_is_called_by_its_name_or_its_number(name: str | None, label: str) -> None:
    rule = Rule(
        number=3,
        name=name,
        tasks_in=Tasks.TENSOR,
        tasks_out=Tasks.TENSOR,
        rounds=EVERYTHING,
        devices=EVERYTHING,
        ids=(),
        names=(),
        save_child=False,
        match_all=False,
        span=NOWHERE,
    )
    assert rule.label == label
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.number = 4  # type: ignore[misc]
