from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.selection import NumberFilter, NumberRange
from plain_rules import ANY, EVERYTHING, NOWHERE, number, plain_rule

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
