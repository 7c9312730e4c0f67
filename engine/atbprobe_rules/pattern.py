"""Patterns over bytes, drawn into one graph of positions: a nondeterministic automaton.

A pattern grows from `START` by bytes, numbers and gaps and ends with an emission, which is what it says of
the text that it matches. What begins alike shares its positions, so literals form a trie.
"""

from __future__ import annotations

from dataclasses import dataclass

from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.utf8 import Range, byte_ranges

START = 0
"""The position before the first byte."""

ALL_BYTES = (1 << 256) - 1
"""The set of all bytes. A set of bytes is an integer with one bit for each of them."""

MAX_POSITIONS = 1 << 18

_LARGEST_STEP = 1_000
"""A remainder needs a position of its own for each number of digits."""

_WORD = (1 << 64) - 1
_CASE = 0x20
"""The bit in which the two cases of an ASCII letter differ."""


class AutomatonTooLargeError(AtbprobeError):
    """The patterns need more positions, states or transitions than the limits allow."""


@dataclass(frozen=True)
class Emission:
    """What the end of a pattern says: three masks of rules, and position bits for terms of several parts."""

    here: int = 0
    below: int = 0
    excluded: int = 0
    positions: int = 0

    def packed(self) -> int:
        """Return all masks as one integer; the union of emissions is then a bitwise or."""
        return self.here | self.below << 64 | self.excluded << 128 | self.positions << 192

    @staticmethod
    def unpack(packed: int) -> Emission:
        """Return the emission that `packed` makes."""
        return Emission(packed & _WORD, packed >> 64 & _WORD, packed >> 128 & _WORD, packed >> 192)

    def without_implied(self) -> Emission:
        """Leave out what says nothing new: an exclusion wins over the rest, and below implies here."""
        below = self.below & ~self.excluded
        return Emission(self.here & ~self.excluded & ~below, below, self.excluded, self.positions)


class PatternGraph:
    """The positions, what leaves them and what ends there. Methods that extend return the new position."""

    def __init__(self, most_positions: int | None = None) -> None:
        self._most_positions = most_positions
        self.edges: list[list[tuple[int, int]]] = [[]]
        """For each position the (set of bytes, target) that leave it."""
        self.skips: list[list[int]] = [[]]
        """For each position those that are reached together with it."""
        self.exact = [0]
        """For each position the packed emission of the patterns that end there."""
        self.prefix = [0]
        """The same of patterns that hold for any rest."""
        self._shared: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return len(self.edges)

    def step(self, position: int, byte_set: int) -> int:
        """Extend by one byte out of `byte_set`."""
        key = (position, byte_set)
        target = self._shared.get(key)
        if target is None:
            target = self._shared[key] = self.add_position()
            self.edges[position].append((byte_set, target))
        return target

    def literal(self, position: int, text: bytes, fold_case: bool = False) -> int:
        """Extend by `text`; with `fold_case` an ASCII letter stands for both of its cases."""
        for value in text:
            folds = fold_case and ord("a") <= value | _CASE <= ord("z")
            position = self.step(position, 1 << value | 1 << (value ^ _CASE) if folds else 1 << value)
        return position

    def any_bytes(self, position: int) -> int:
        """Extend by any number of bytes."""
        key = (position, "any bytes")
        target = self._shared.get(key)
        if target is None:
            # A loop on `position` itself would widen the other patterns that share it.
            target = self._shared[key] = self.add_position()
            self.edges[target].append((ALL_BYTES, target))
            self.skips[position].append(target)
        return target

    def character(self, position: int, characters: tuple[Range, ...]) -> int:
        """Extend by one character out of the ranges, in UTF-8; bytes that are no UTF-8 are none."""
        key = (position, "character", characters)
        end = self._shared.get(key)
        if end is None:
            end = self._shared[key] = self.add_position()
            for *leading, (first, last) in byte_ranges(characters):
                at = position
                for low, high in leading:
                    at = self.step(at, _bytes_between(low, high))
                self.edges[at].append((_bytes_between(first, last), end))
        return end

    def number(self, position: int, first: int, last: int, step: int = 1) -> int:
        """Extend by a canonical decimal number out of first, first + step, ... that is not above last."""
        if first + step > last:
            return self.literal(position, b"%d" % first)
        key = (position, first, last, step)
        end = self._shared.get(key)
        if end is None:
            if step > _LARGEST_STEP:
                raise AutomatonTooLargeError(f"a step is larger than {_LARGEST_STEP}")
            end = self._shared[key] = self.add_position()
            digits = _Digits(self, end, step)
            for length in range(len(str(first)), len(str(last)) + 1):
                low = max(first, 10 ** (length - 1) if length > 1 else 0)
                digits.lead(position, length, low, min(last, 10**length - 1), first % step)
        return end

    def reachable(self) -> list[int]:
        """Return for each position the packed emission of all that can still come from it."""
        result = [exact | prefix for exact, prefix in zip(self.exact, self.prefix, strict=True)]
        done = bytearray(len(self))
        pending = [START]
        while pending:
            position = pending[-1]
            following = [target for _, target in self.edges[position] if target != position] + self.skips[position]
            open_ones = [target for target in following if not done[target]]
            if open_ones:
                pending += open_ones
                continue
            pending.pop()
            done[position] = True
            for target in following:
                result[position] |= result[target]
        return result

    def accept(self, position: int, emission: Emission, prefix: bool = False) -> None:
        """End a pattern at `position`; with `prefix` any bytes may follow."""
        ends = self.prefix if prefix else self.exact
        ends[position] |= emission.packed()

    def add_position(self) -> int:
        """Return a new position that nothing leads to yet."""
        limit = MAX_POSITIONS if self._most_positions is None else self._most_positions
        if len(self.edges) >= limit:
            raise AutomatonTooLargeError(f"the patterns have more than {limit} positions")
        self.edges.append([])
        self.skips.append([])
        self.exact.append(0)
        self.prefix.append(0)
        return len(self.edges) - 1


def _bytes_between(first: int, last: int) -> int:
    return (1 << last + 1) - (1 << first)


class _Digits:
    """Positions inside a number: how many digits are to come, their bounds, and their remainder.

    Bounds that bind no more are all alike, so a range takes at most some 20 x 20 positions, times the step.
    """

    def __init__(self, graph: PatternGraph, end: int, step: int) -> None:
        self._graph = graph
        self._step = step
        self._positions: dict[tuple[int, int, int, int], int] = {(0, 0, 0, 0): end}

    def lead(self, position: int, remaining: int, low: int, high: int, remainder: int) -> None:
        """Draw from `position` to the end all texts of `remaining` digits whose value is wanted."""
        weight = 10 ** (remaining - 1)
        targets: dict[int, int] = {}
        for digit in range(low // weight, high // weight + 1):
            taken = digit * weight
            rest_low = max(low - taken, 0)
            rest_high = min(high - taken, weight - 1)
            target = self._position(remaining - 1, rest_low, rest_high, (remainder - taken) % self._step)
            if target is not None:
                targets[target] = targets.get(target, 0) | 1 << ord("0") + digit
        for target, byte_set in targets.items():
            self._graph.edges[position].append((byte_set, target))

    def _position(self, remaining: int, low: int, high: int, remainder: int) -> int | None:
        if low + (remainder - low) % self._step > high:
            return None
        key = (remaining, low, high, remainder)
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = self._graph.add_position()
            self.lead(position, remaining, low, high, remainder)
        return position
