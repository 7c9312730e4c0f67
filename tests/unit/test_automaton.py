"""Automata accept what their patterns say, are minimal, and have their states in the promised order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules import automaton, pattern
from atbprobe_rules.automaton import Automaton, build
from atbprobe_rules.pattern import START, AutomatonTooLargeError, Emission, PatternGraph

MAX_NUMBER = 2**64 - 1


def run(tables: Automaton, text: bytes) -> Emission:
    row = tables.start
    for byte in text:
        row = int(tables.transitions[row + int(tables.classes[byte])])
    return tables.emissions[tables.states[row // tables.class_count]]


def number_pattern(first: int, last: int, step: int) -> Automaton:
    graph = PatternGraph()
    graph.accept(graph.number(START, first, last, step), Emission(here=1))
    return build(graph)


def distinguishable_states(tables: Automaton) -> int:
    """Count classes of equivalent states that the start leads to, and the dead state, by the slowest method."""
    rows = tables.transitions.reshape(-1, tables.class_count) // tables.class_count
    block = tables.states.astype(np.int64)
    while True:
        signatures = np.column_stack([block, block[rows]])
        refined = np.unique(signatures, axis=0, return_inverse=True)[1].reshape(-1)
        if refined.max() == block.max() and len(np.unique(refined)) == len(np.unique(block)):
            break
        block = refined
    reached = {0, tables.start // tables.class_count}
    pending = list(reached)
    while pending:
        for target in set(rows[pending.pop()].tolist()) - reached:
            reached.add(target)
            pending.append(target)
    return len({int(block[state]) for state in reached})


# A pattern is a sequence of literals and gaps (None), perhaps only a prefix.
words = st.lists(st.sampled_from([b"a", b"b", b"ab", b"ba", b"_", None]), max_size=4)
patterns = st.lists(st.tuples(words, st.booleans(), st.integers(0, 3)), max_size=6)


def graph_of(drawn: Iterable[tuple[Sequence[bytes | None], bool, int]]) -> PatternGraph:
    graph = PatternGraph()
    for pieces, prefix, rule in drawn:
        position = START
        for piece in pieces:
            position = graph.any_bytes(position) if piece is None else graph.literal(position, piece)
        graph.accept(position, Emission(here=1 << rule, positions=1 << rule + 100), prefix)
    return graph


@given(patterns)
def test_patterns_match_as_regular_expressions_do(
    drawn: list[tuple[list[bytes | None], bool, int]],
) -> None:
    tables = build(graph_of(drawn))
    expressions = [
        (re.compile(b"".join(b".*" if piece is None else piece for piece in pieces) + (b".*" if prefix else b"")), rule)
        for pieces, prefix, rule in drawn
    ]
    for length in range(6):
        for letters in itertools.product(b"abx", repeat=length):
            text = bytes(letters)
            hit = sum({1 << rule for expression, rule in expressions if expression.fullmatch(text)})
            assert run(tables, text) == Emission(here=hit, positions=hit << 100)


@given(patterns)
def test_automata_are_minimal(drawn: list[tuple[list[bytes | None], bool, int]]) -> None:
    tables = build(graph_of(drawn))
    assert distinguishable_states(tables) == len(tables.states)


@given(patterns)
def test_absorbing_states_come_first(drawn: list[tuple[list[bytes | None], bool, int]]) -> None:
    tables = build(graph_of(drawn))
    rows = tables.transitions.reshape(-1, tables.class_count)
    own = np.arange(len(rows)) * tables.class_count
    loops = (rows == own[:, np.newaxis]).all(axis=1)
    absorbing = tables.absorbing // tables.class_count
    assert loops[:absorbing].all()
    assert not loops[absorbing:].any()
    assert loops[0] and tables.emissions[tables.states[0]] == Emission()


@given(patterns)
def test_the_same_patterns_make_the_same_tables(drawn: list[tuple[list[bytes | None], bool, int]]) -> None:
    one, other = build(graph_of(drawn)), build(graph_of(drawn))
    assert one.transitions.tobytes() == other.transitions.tobytes()
    assert one.states.tobytes() == other.states.tobytes()
    assert one.emissions == other.emissions


bounds = st.integers(0, 1500) | st.sampled_from([MAX_NUMBER, MAX_NUMBER - 1, 10**19, 10**19 - 1])


@given(bounds, bounds, st.integers(1, 12), st.lists(bounds, max_size=20))
def test_numbers(one: int, other: int, step: int, tried: list[int]) -> None:
    first, last = sorted((one, other))
    tables = number_pattern(first, last, step)
    edges = [number + change for number in (first, last, first + step) for change in (-1, 0, 1)]
    for number in (*tried, *range(0, 130), *edges):
        if number >= 0:
            inside = first <= number <= last and (number - first) % step == 0
            assert run(tables, b"%d" % number) == Emission(here=int(inside)), number


@pytest.mark.parametrize(
    "text", [b"", b"00", b"01", b"007", b"1x", b"x", b" 1", b"1_", b"18446744073709551616", b"9" * 30]
)
def test_texts_that_are_no_numbers(text: bytes) -> None:
    assert run(number_pattern(0, MAX_NUMBER, 1), text) == Emission()


def test_any_number_takes_few_states() -> None:
    assert len(number_pattern(0, MAX_NUMBER, 1).states) < 60


def test_numbers_in_a_row_do_not_multiply() -> None:
    def states(depth: int) -> int:
        graph = PatternGraph()
        position = START
        for _ in range(depth):
            position = graph.literal(graph.number(position, 17, 40000), b"_")
        graph.accept(position, Emission(here=1))
        return len(build(graph).states)

    assert states(6) - states(5) == states(3) - states(2)


def test_case_folds_for_ascii_letters_only() -> None:
    graph = PatternGraph()
    graph.accept(graph.literal(START, "mé[z".encode(), fold_case=True), Emission(here=1))
    tables = build(graph)
    for text in ("mé[z", "MÉ[z", "Mé[Z", "mé{z"):
        assert run(tables, text.encode()).here == (text in ("mé[z", "Mé[Z")), text


def test_bytes_that_no_pattern_tells_apart_share_a_class() -> None:
    graph = PatternGraph()
    graph.accept(graph.literal(START, b"ab", fold_case=True), Emission(here=1))
    tables = build(graph)
    assert tables.class_count == 3
    assert tables.classes[ord("a")] == tables.classes[ord("A")] != tables.classes[ord("b")]


def test_a_scan_of_a_prefix_can_end() -> None:
    graph = PatternGraph()
    graph.accept(graph.literal(START, b"ab"), Emission(below=1), prefix=True)
    tables = build(graph)
    # Dead, and "ab" with any rest; the start and "a" follow.
    assert tables.absorbing == 2 * tables.class_count
    assert len(tables.states) == 4


def test_what_is_implied_is_left_out() -> None:
    graph = PatternGraph()
    graph.accept(START, Emission(here=0b111, below=0b110, excluded=0b100))
    assert run(build(graph), b"") == Emission(here=0b001, below=0b010, excluded=0b100)


def test_no_patterns() -> None:
    tables = build(PatternGraph())
    assert (tables.class_count, len(tables.states), tables.start, tables.absorbing) == (1, 1, 0, 1)
    assert run(tables, b"anything") == Emission()


def test_prefixes_cost_one_state_for_each_edge() -> None:
    graph = PatternGraph()
    for number in range(1000):
        name = b"%dx" % (number * 7919)
        graph.accept(graph.literal(START, name), Emission(here=1 << number % 64), prefix=True)
    # One for each set of rules that a scan can end with, and never more than positions.
    tables = build(graph)
    assert len(tables.states) <= len(graph) + len(tables.emissions) + 1


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of([([b"abc"], False, 0)])
    with pytest.raises(AutomatonTooLargeError, match="4 states"):
        build(graph, most_states=4)
    monkeypatch.setattr(automaton, "MAX_TRANSITIONS", 4)
    with pytest.raises(AutomatonTooLargeError, match="4 transitions"):
        build(graph)
    monkeypatch.setattr(pattern, "MAX_POSITIONS", 4)
    with pytest.raises(AutomatonTooLargeError, match="4 positions"):
        graph.literal(START, b"xyz")
