"""The tables of an automaton as states that are counted, and as transitions that can be read.

The transitions of a state become one target for most bytes and the bytes that lead elsewhere. A state is described when
it is asked for, since an automaton can have hundreds of thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atbprobe_rules.program import AutomatonTables


@dataclass(frozen=True)
class EmissionDescription:
    """What ends in a state says of the op, of it and all below it, and the positions of path terms that it matches."""

    here: tuple[str, ...]
    below: tuple[str, ...]
    excluded: tuple[str, ...]
    positions: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        return {"here": self.here, "below": self.below, "excluded": self.excluded, "positions": self.positions}


@dataclass(frozen=True)
class StateDescription:
    """One state: `otherwise` is the target of all bytes that are not in `moves`, which are (bytes, target)."""

    number: int
    emission: int
    otherwise: int
    moves: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        moves = [{"bytes": text, "to": target} for text, target in self.moves]
        return {"state": self.number, "emission": self.emission, "moves": moves, "otherwise": self.otherwise}


class AutomatonDescription:
    """The classes of bytes of an automaton, its states, which are counted, and its emissions."""

    def __init__(self, tables: AutomatonTables, emissions: tuple[EmissionDescription, ...]) -> None:
        self._tables = tables
        self.emissions = emissions
        self._bytes_of_class = [
            np.flatnonzero(tables.classes == number).tolist() for number in range(tables.class_count)
        ]
        self.start = tables.start // tables.class_count
        self.absorbing = tables.absorbing // tables.class_count
        """So many states, the first ones, are never left."""

    @property
    def classes(self) -> list[str]:
        """The bytes of each class."""
        return [bytes_text(members) for members in self._bytes_of_class]

    @property
    def state_count(self) -> int:
        """The number of states."""
        return len(self._tables.states)

    def state(self, number: int) -> StateDescription:
        """Describe one state."""
        width = self._tables.class_count
        targets = self._tables.transitions[number * width : (number + 1) * width] // width
        bytes_to: dict[int, list[int]] = {}
        for target, members in zip(targets.tolist(), self._bytes_of_class, strict=True):
            bytes_to.setdefault(target, []).extend(members)
        otherwise = max(bytes_to, key=lambda target: len(bytes_to[target]))
        moves = [(sorted(members), target) for target, members in bytes_to.items() if target != otherwise]
        return StateDescription(
            number,
            int(self._tables.states[number]),
            otherwise,
            tuple((bytes_text(members), target) for members, target in sorted(moves)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it; classes, states and emissions are known by their place."""
        return {
            "classes": self.classes,
            "start": self.start,
            "absorbing": self.absorbing,
            "states": [self.state(number).to_json() for number in range(self.state_count)],
            "emissions": [emission.to_json() for emission in self.emissions],
        }


def bytes_text(members: Sequence[int]) -> str:
    """Return ascending bytes as characters: three and more in a row as `a-z`, and what is not plain escaped."""
    return " ".join(
        _byte(first) if first == last else f"{_byte(first)}-{_byte(last)}" for first, last in _runs(members)
    )


def _runs(members: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in range(1, len(members) + 1):
        if stop < len(members) and members[stop] == members[stop - 1] + 1:
            continue
        if stop - start >= 3:
            yield members[start], members[stop - 1]
        else:
            yield from ((member, member) for member in members[start:stop])
        start = stop


def _byte(value: int) -> str:
    character = chr(value)
    if character in "-\\":
        return f"\\{character}"
    return character if "!" <= character <= "~" else f"\\x{value:02x}"
