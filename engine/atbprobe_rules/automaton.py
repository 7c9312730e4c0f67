"""Deterministic automata over bytes: from a graph of patterns to the tables that the evaluator steps through.

- Bytes fold into classes: bytes that no pattern tells apart share a column.
- Subset construction. A state is the set of positions that the bytes so far lead to, together with what has
  been collected from patterns that hold for any rest (prefixes). Only the classes that leave one of its
  positions explicitly are computed; all others take one default transition. The work is proportional to the
  edges of the graph, not to states x 256.
- Equivalent states are merged by partition refinement: blocks of equal emission are split until all states of
  a block lead to the same blocks. At a split the largest part keeps the name of the block, so that only
  predecessors of the smaller parts are looked at again, and no state is renamed more than log n times.

State 0 is dead: it emits nothing and leads to itself. The states that lead only to themselves come first, so
that one comparison tells a scan that nothing can change any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atbprobe_rules.pattern import ALL_BYTES, START, AutomatonTooLargeError, Emission, PatternGraph

MAX_STATES = 1 << 16
"""Besides four for each position, which a trie of words never needs: a bound on the time as well."""

MAX_WORK = 1 << 22
"""Positions looked at in all states together: a few seconds. Many `*` in one name keep all its positions in each."""

MAX_TRANSITIONS = 1 << 23
"""32 MiB of table: half of the largest image."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """The tables: a row is a state times `class_count`; next is `transitions[row + classes[byte]]`."""

    classes: npt.NDArray[np.uint8]
    """Class of each byte, shape (256,)."""
    class_count: int
    transitions: npt.NDArray[np.uint32]
    """Next rows, shape (states * class_count,)."""
    states: npt.NDArray[np.uint32]
    """Index of the emission of each state, shape (states,)."""
    emissions: tuple[Emission, ...]
    """All different emissions; the first one is empty."""
    start: int
    """Row of the start state."""
    absorbing: int
    """Rows below this one lead only to themselves."""


def build(graph: PatternGraph, most_states: int | None = None, most_work: int = MAX_WORK) -> Automaton:
    """Return the minimal automaton of all patterns; raises AutomatonTooLargeError.

    `most_states` counts before equal ones are merged; the default grows with the graph. `most_work` bounds the time.
    """
    classes = _byte_classes({byte_set for edges in graph.edges for byte_set, _ in edges})
    limit = MAX_STATES + 4 * len(graph) if most_states is None else most_states
    return _tables(classes, _Subsets(graph, classes).explore(limit, most_work))


def _byte_classes(byte_sets: set[int]) -> list[int]:
    """Return the coarsest partition that each of the sets is a union of, ordered by lowest byte."""
    parts = [ALL_BYTES]
    for byte_set in byte_sets:
        parts = [part for old in parts for part in (old & byte_set, old & ~byte_set) if part]
    return sorted(parts, key=lambda part: part & -part)


_State = tuple[tuple[int, ...], int]


@dataclass
class _States:
    """The states in breadth-first order: 0 is dead, 1 is the start unless that is 0."""

    emissions: list[int]
    """Packed, without what is implied."""
    defaults: list[int]
    """Target of the classes that are not in `moves`."""
    moves: list[list[tuple[int, int]]]
    """The (class, target) that differ from the default, by class."""

    def __len__(self) -> int:
        return len(self.emissions)


class _Subsets:
    """The subset construction."""

    def __init__(self, graph: PatternGraph, classes: Sequence[int]) -> None:
        self._graph = graph
        self._defaults: list[list[int]] = []
        self._moves: list[dict[int, list[int]]] = []
        columns: dict[int, list[int]] = {}
        for edges in graph.edges:
            default: list[int] = []
            moves: dict[int, list[int]] = {}
            for byte_set, target in edges:
                if byte_set == ALL_BYTES:
                    default.append(target)
                    continue
                if byte_set not in columns:
                    columns[byte_set] = [column for column, part in enumerate(classes) if part & byte_set]
                for column in columns[byte_set]:
                    moves.setdefault(column, []).append(target)
            self._defaults.append(default)
            self._moves.append(dict(sorted(moves.items())))
        self._numbers: dict[_State, int] = {((), 0): 0}
        self._states: list[_State] = [((), 0)]
        self._emissions: dict[int, int] = {}
        self._work = 0
        # Where a `*` keeps a pattern going, what it could still say may have been said by another one.
        self._reachable = graph.reachable() if any(graph.skips) else None

    def explore(self, most_states: int, most_work: int) -> _States:
        """Return all states that the start leads to; raises AutomatonTooLargeError."""
        self._number([START], 0)
        result = _States([], [], [])
        for positions, collected in self._states:
            if len(self._states) > most_states:
                raise AutomatonTooLargeError(f"the automaton has more than {most_states} states")
            if self._work > most_work:
                raise AutomatonTooLargeError(f"the automaton takes more than {most_work} steps to build")
            emission = collected
            otherwise: list[int] = []
            for position in positions:
                emission |= self._graph.exact[position]
                otherwise += self._defaults[position]
            default = self._number(otherwise, collected)
            leaving = (
                (column, self._number(otherwise + targets, collected)) for column, targets in self._explicit(positions)
            )
            result.emissions.append(self._without_implied(emission))
            result.defaults.append(default)
            result.moves.append([(column, target) for column, target in leaving if target != default])
        return result

    def _explicit(self, positions: tuple[int, ...]) -> Iterable[tuple[int, list[int]]]:
        """Return the classes that leave one of the positions, in order, each with where it leads."""
        if len(positions) == 1:
            return self._moves[positions[0]].items()
        merged: dict[int, list[int]] = {}
        for position in positions:
            for column, targets in self._moves[position].items():
                merged.setdefault(column, []).extend(targets)
        return sorted(merged.items())

    def _number(self, targets: list[int], collected: int) -> int:
        graph = self._graph
        self._work += len(targets)
        reached: Iterable[int] = targets
        if len(targets) > 1 or (targets and graph.skips[targets[0]]):
            reached = self._with_skips(targets)
        for position in reached:
            collected |= graph.prefix[position]
        # A position that nothing leaves and that has nothing to add would only tell equal states apart.
        live = [
            position
            for position in reached
            if self._moves[position] or self._defaults[position] or graph.exact[position] & ~collected
        ]
        if self._reachable is not None and collected:
            live = [position for position in live if self._reachable[position] & ~collected]
        state = (tuple(sorted(live)), collected)
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _with_skips(self, targets: list[int]) -> set[int]:
        reached: set[int] = set()
        pending = list(targets)
        while pending:
            position = pending.pop()
            if position not in reached:
                reached.add(position)
                pending += self._graph.skips[position]
        return reached

    def _without_implied(self, emission: int) -> int:
        if emission not in self._emissions:
            self._emissions[emission] = Emission.unpack(emission).without_implied().packed()
        return self._emissions[emission]


class _Blocks:
    """The partition refinement. `of` tells the block of each state."""

    def __init__(self, states: _States) -> None:
        self._states = states
        names: dict[int, int] = {}
        self.of = [names.setdefault(emission, len(names)) for emission in states.emissions]
        self._members: list[set[int]] = [set() for _ in names]
        self._predecessors: list[list[int]] = [[] for _ in range(len(states))]
        for state, block in enumerate(self.of):
            self._members[block].add(state)
            self._predecessors[states.defaults[state]].append(state)
            for _, target in states.moves[state]:
                self._predecessors[target].append(state)

    def refine(self) -> None:
        """Split the blocks until all states of one lead to the same blocks."""
        dirty = set(range(len(self._states)))
        while dirty:
            touched: dict[int, list[int]] = {}
            for state in dirty:
                touched.setdefault(self.of[state], []).append(state)
            # All signatures are taken before anything is renamed: it is between rounds that the states of a
            # block that are not dirty have one and the same signature.
            splits = [(block, self._parts_to_move(block, states)) for block, states in touched.items()]
            dirty = set()
            for block, parts in splits:
                for part in parts:
                    self._members[block].difference_update(part)
                    for state in part:
                        self.of[state] = len(self._members)
                        dirty.update(self._predecessors[state])
                    self._members.append(set(part))

    def _parts_to_move(self, block: int, dirty: list[int]) -> list[list[int]]:
        """Return the parts of a block that must leave it: all but the largest."""
        members = self._members[block]
        if len(members) == 1:
            return []
        parts: dict[tuple[int, ...], list[int]] = {}
        for state in dirty:
            parts.setdefault(self._signature(state), []).append(state)
        if len(members) > 2 * len(dirty):
            looked_at = set(dirty)
            clean_state = next(state for state in members if state not in looked_at)
            parts.pop(self._signature(clean_state), None)
            return list(parts.values())
        clean = members.difference(dirty)
        if clean:
            parts.setdefault(self._signature(next(iter(clean))), []).extend(clean)
        return sorted(parts.values(), key=len)[:-1]

    def _signature(self, state: int) -> tuple[int, ...]:
        default = self.of[self._states.defaults[state]]
        signature = [default]
        for column, target in self._states.moves[state]:
            if self.of[target] != default:
                signature += (column, self.of[target])
        return tuple(signature)


def _tables(classes: Sequence[int], states: _States) -> Automaton:
    partition = _Blocks(states)
    partition.refine()
    block_of = partition.of
    first_of_block: dict[int, int] = {}
    for state, block in enumerate(block_of):
        first_of_block.setdefault(block, state)

    # The dead state is the first of all and absorbing, so it stays in front.
    absorbing: list[int] = []
    others: list[int] = []
    for block, state in first_of_block.items():
        targets = [states.defaults[state], *(target for _, target in states.moves[state])]
        (absorbing if all(block_of[target] == block for target in targets) else others).append(state)
    kept = absorbing + others
    if len(kept) * len(classes) > MAX_TRANSITIONS:
        raise AutomatonTooLargeError(f"the automaton has more than {MAX_TRANSITIONS} transitions")
    row_of_block = {block_of[state]: number * len(classes) for number, state in enumerate(kept)}

    table = np.empty((len(kept), len(classes)), dtype=np.uint32)
    table.T[:] = [row_of_block[block_of[states.defaults[state]]] for state in kept]
    moves = [
        (number * len(classes) + column, row_of_block[block_of[target]])
        for number, state in enumerate(kept)
        for column, target in states.moves[state]
    ]
    cells, rows = np.array(moves, dtype=np.int64).reshape(-1, 2).T
    transitions = table.reshape(-1)
    transitions[cells] = rows

    indices: dict[int, int] = {0: 0}
    return Automaton(
        classes=_class_table(classes),
        class_count=len(classes),
        transitions=transitions,
        states=np.array([indices.setdefault(states.emissions[state], len(indices)) for state in kept], dtype=np.uint32),
        emissions=tuple(Emission.unpack(emission) for emission in indices),
        start=row_of_block[block_of[min(1, len(states) - 1)]],
        absorbing=len(absorbing) * len(classes),
    )


def _class_table(classes: Sequence[int]) -> npt.NDArray[np.uint8]:
    table = np.zeros(256, dtype=np.uint8)
    for number, part in enumerate(classes):
        for value in range(256):
            if part >> value & 1:
                table[value] = number
    return table
