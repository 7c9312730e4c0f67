"""Filters of numbers become intervals and strides that say the same."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.diagnostics import Span
from atbprobe_rules.program import lower_numbers
from atbprobe_rules.selection import MAX_NUMBER, NumberFilter, NumberRange

NOWHERE = Span(0, 0)


def numbers(first: int, last: int, step: int = 1) -> NumberRange:
    return NumberRange(first, last, step, NOWHERE)


@st.composite
def ranges(draw: st.DrawFn) -> NumberRange:
    first = draw(st.integers(0, 40) | st.sampled_from([MAX_NUMBER - 3, MAX_NUMBER]))
    last = min(MAX_NUMBER, first + draw(st.sampled_from([0, 0, 1, 2, 9, MAX_NUMBER])))
    return numbers(first, last, draw(st.sampled_from([1, 1, 1, 2, 3])))


lists_of_ranges = st.lists(ranges(), max_size=5).map(tuple)
filters = st.builds(
    lambda unlimited, included, excluded: NumberFilter(unlimited, () if unlimited else included, excluded),
    st.booleans(),
    lists_of_ranges,
    lists_of_ranges,
)


@given(st.lists(filters, min_size=1, max_size=4))
def test_lowered_filters_accept_the_same_numbers(drawn: list[NumberFilter]) -> None:
    intervals, strides = lower_numbers(drawn)
    rows, stride_rows = intervals.tolist(), strides.tolist()
    for number in (*range(60), *range(MAX_NUMBER - 5, MAX_NUMBER + 1)):
        _, include, exclude = [row for row in rows if row[0] <= number][-1]
        for first, last, step, stride_include, stride_exclude in stride_rows:
            if number in range(first, last + 1, step):
                include |= stride_include
                exclude |= stride_exclude
        accepted = include & ~exclude
        assert [accepted >> rule & 1 for rule in range(len(drawn))] == [int(one.accepts(number)) for one in drawn], (
            number
        )


@given(st.lists(filters, min_size=1, max_size=4))
def test_intervals_cover_everything_and_differ_from_their_neighbours(drawn: list[NumberFilter]) -> None:
    intervals, _ = lower_numbers(drawn)
    rows = intervals.tolist()
    assert rows[0][0] == 0
    for before, after in itertools.pairwise(rows):
        assert before[0] < after[0]
        assert before[1:] != after[1:]


def test_ranges_that_overlap_or_touch_are_one() -> None:
    intervals, strides = lower_numbers([NumberFilter(False, (numbers(5, 9), numbers(2, 6), numbers(10, 12)))])
    assert intervals.tolist() == [(0, 0, 0), (2, 1, 0), (13, 0, 0)]
    assert len(strides) == 0


def test_a_range_up_to_the_largest_number_has_no_end() -> None:
    intervals, _ = lower_numbers([NumberFilter(False, (numbers(7, MAX_NUMBER),))])
    assert intervals.tolist() == [(0, 0, 0), (7, 1, 0)]


def test_no_limits() -> None:
    intervals, _ = lower_numbers([NumberFilter(True), NumberFilter(False)])
    assert intervals.tolist() == [(0, 0b01, 0)]


def test_equal_strides_of_several_rules_are_one_record() -> None:
    odd = NumberFilter(False, (numbers(1, 99, 2),))
    _, strides = lower_numbers([odd, odd, NumberFilter(True, (), (numbers(1, 99, 2),))])
    assert strides.tolist() == [(1, 99, 2, 0b011, 0b100)]


def test_a_stride_of_one_number_is_an_interval() -> None:
    intervals, strides = lower_numbers([NumberFilter(False, (numbers(3, 5, 7),))])
    assert intervals.tolist() == [(0, 0, 0), (3, 1, 0), (4, 0, 0)]
    assert len(strides) == 0
