"""The terms of all rules as two graphs of patterns: one over ids, one over the name of a component.

A name term of several parts, or one tied to the layer-level operation, becomes a run of positions: bits that
advance from component to component as the names of these match. Equal terms of several rules share a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from atbprobe_rules.automaton import build
from atbprobe_rules.pattern import START, AutomatonTooLargeError, Emission, PatternGraph
from atbprobe_rules.program import PATH_ACCEPT, PATH_WORD, Records
from atbprobe_rules.selection import (
    AnyCharacter,
    AnyCharacters,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    Rule,
)
from atbprobe_rules.utf8 import LAST_CHARACTER, complement, fold_ascii_case

WORD_BITS = 64

_MOST_WEIGHED = 256
_MOST_STATES_OF_ONE = 2_000
_MOST_WORK_OF_ONE = 1 << 14
_MOST_POSITIONS_OF_ONE = 1 << 12
"""Bounds on the time that it may take to say which term costs most."""


class TermGraphs:
    """The terms of all rules, as patterns."""

    def __init__(self, most_positions: int | None = None) -> None:
        self.ids = PatternGraph(most_positions)
        self.names = PatternGraph(most_positions)
        self.runs = PathRuns(self.names)

    def add_rule(self, bit: int, rule: Rule) -> None:
        """Add all terms of a rule; raises AutomatonTooLargeError."""
        for term in terms_of(rule):
            if isinstance(term, IdTerm):
                self._add_ids(term, _effect(bit, term.excluded, rule.save_child or term.subtree))
            else:
                self._add_name(bit, term, rule.save_child)

    def _add_ids(self, term: IdTerm, effect: Emission) -> None:
        position = START
        for depth, numbers in enumerate(term.components):
            if depth > 0:
                position = self.ids.literal(position, b"_")
            position = self.ids.number(position, numbers.first, numbers.last, numbers.step)
        self.ids.accept(position, effect)

    def _add_name(self, bit: int, term: NameTerm, save_child: bool) -> None:
        """Add a term; a `**` in front unties it from the layer, one behind takes in all that is below."""
        parts = [part for part in term.parts if isinstance(part, NamePart)]
        ends_in_name = isinstance(term.parts[-1], NamePart)
        effect = _effect(bit, term.excluded, save_child or not ends_in_name)
        anchored = term.anchored and isinstance(term.parts[0], NamePart)
        prefix = term.prefix and ends_in_name
        if not parts:
            self.names.accept(START, effect, prefix=True)
        elif len(parts) == 1 and not anchored:
            add_name(self.names, parts[0].atoms, effect, prefix)
        else:
            gaps = tuple(
                not isinstance(following, NamePart)
                for part, following in zip(term.parts, term.parts[1:], strict=False)
                if isinstance(part, NamePart)
            )
            self.runs.add(tuple(part.atoms for part in parts), gaps, anchored, prefix, effect)


class PathRuns:
    """The runs of positions of terms of several parts, and what completes them."""

    def __init__(self, names: PatternGraph) -> None:
        self._names = names
        self._count = 0
        self._last_positions: dict[tuple[object, ...], int] = {}
        self._accepts: dict[int, int] = {}
        self._start = 0
        self._anchored = 0
        self._sticky = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        parts: tuple[tuple[NameAtom, ...], ...],
        gaps: tuple[bool, ...],
        anchored: bool,
        prefix: bool,
        effect: Emission,
    ) -> None:
        """Add a term; `gaps` tells for each part whether any number of components may follow."""
        key = (parts, gaps, anchored, prefix)
        if key not in self._last_positions:
            self._last_positions[key] = self._add_run(parts, gaps, anchored, prefix)
        last = self._last_positions[key]
        self._accepts[last] = self._accepts.get(last, 0) | effect.packed()

    def records(self) -> tuple[Records, Records]:
        """Return the PATH_WORD and the PATH_ACCEPT records."""
        words = []
        accept = sum(1 << position for position in self._accepts)
        for shift in range(0, self._count, WORD_BITS):
            masks = (self._start, self._anchored, self._sticky, accept)
            accept_base = (accept & ((1 << shift) - 1)).bit_count()
            words.append((*(mask >> shift & (1 << WORD_BITS) - 1 for mask in masks), accept_base))
        effects = [Emission.unpack(packed) for _, packed in sorted(self._accepts.items())]
        accepts = [(effect.here, effect.below, effect.excluded) for effect in effects]
        return np.array(words, dtype=PATH_WORD), np.array(accepts, dtype=PATH_ACCEPT)

    def _add_run(
        self, parts: tuple[tuple[NameAtom, ...], ...], gaps: tuple[bool, ...], anchored: bool, prefix: bool
    ) -> int:
        if anchored:
            # A position that nothing matches, so that the end of the run before does not lead into this one.
            self._count += self._count > 0
            self._anchored |= 1 << self._count
        else:
            self._start |= 1 << self._count
        for index, atoms in enumerate(parts):
            bit = 1 << self._count
            is_last = index == len(parts) - 1
            add_name(self._names, atoms, Emission(positions=bit), prefix and is_last)
            if not is_last and gaps[index]:
                self._sticky |= bit
            self._count += 1
        return self._count - 1


def add_name(names: PatternGraph, atoms: Sequence[NameAtom], effect: Emission, prefix: bool) -> None:
    """Add the pattern of one name, case folded; a `*` at its end is the same as a prefix."""
    if isinstance(atoms[-1], AnyCharacters):
        atoms, prefix = atoms[:-1], True
    names.accept(_draw_name(names, atoms), effect, prefix)


def _draw_name(names: PatternGraph, atoms: Sequence[NameAtom]) -> int:
    """Draw the pattern and return its last position."""
    position = START
    for atom in atoms:
        if isinstance(atom, Literal):
            position = names.literal(position, atom.folded, fold_case=True)
        elif isinstance(atom, AnyCharacters):
            position = names.any_bytes(position)
        elif isinstance(atom, AnyCharacter):
            position = names.character(position, ((0, LAST_CHARACTER),))
        else:
            folded = tuple(sorted(fold_ascii_case(atom.ranges)))
            position = names.character(position, tuple(complement(folded)) if atom.negated else folded)
    return position


def terms_of(rule: Rule) -> list[IdTerm | NameTerm]:
    """Return the terms of both kinds."""
    return [*rule.ids, *rule.names]


def _effect(bit: int, excluded: bool, below: bool) -> Emission:
    rule = 1 << bit
    if excluded:
        return Emission(excluded=rule)
    return Emission(below=rule) if below else Emission(here=rule)


def costliest_term(rules: Sequence[Rule]) -> IdTerm | NameTerm | None:
    """Return the term that needs the most states by itself, among those that are long enough to matter."""
    terms = sorted(
        ((_length(term), rule, term) for rule in rules for term in terms_of(rule)), key=lambda item: -item[0]
    )
    heaviest: IdTerm | NameTerm | None = None
    most = 0
    for _, rule, term in terms[:_MOST_WEIGHED]:
        weight = _weight(term, rule)
        if weight > most:
            heaviest, most = term, weight
    return heaviest


def longest_term(rules: Sequence[Rule]) -> NameTerm | None:
    """Return the name term of the most parts."""
    return max((term for rule in rules for term in rule.names), key=lambda term: len(term.parts), default=None)


def _length(term: IdTerm | NameTerm) -> int:
    if isinstance(term, IdTerm):
        return sum(1 + (numbers.first != numbers.last) * numbers.step for numbers in term.components)
    atoms = [atom for part in term.parts if isinstance(part, NamePart) for atom in part.atoms]
    words = sum(len(atom.folded) for atom in atoms if isinstance(atom, Literal))
    return words + sum(WORD_BITS for atom in atoms if not isinstance(atom, Literal))


def _weight(term: IdTerm | NameTerm, rule: Rule) -> int:
    """Return how many states a term needs alone, and how many positions: the first is limited."""
    graphs = TermGraphs(_MOST_POSITIONS_OF_ONE)
    alone = replace(rule, ids=(term,), names=()) if isinstance(term, IdTerm) else replace(rule, ids=(), names=(term,))
    try:
        graphs.add_rule(0, alone)
        graph = graphs.ids if isinstance(term, IdTerm) else graphs.names
        return len(build(graph, _MOST_STATES_OF_ONE, _MOST_WORK_OF_ONE).states) + len(graph)
    except AutomatonTooLargeError:
        return _MOST_STATES_OF_ONE + len(graphs.ids) + len(graphs.names)
