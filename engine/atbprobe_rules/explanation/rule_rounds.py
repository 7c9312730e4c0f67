"""In which rounds the rules of a program are in force: the first ones, how many, and whether there is an end.

All numbers fall into spans within which the same intervals and strides apply. A span without strides has one mask; with
strides the masks repeat with the least common multiple of their steps, so the program is asked for one period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from atbprobe_rules.evaluate import Masks, rules_by_number
from atbprobe_rules.program import Program
from atbprobe_rules.selection import MAX_NUMBER

LONGEST_PERIOD = 1 << 20
SHORTEST_LOOK = 1 << 12
MOST_EVALUATIONS = 1 << 26
"""Rounds times strides that are evaluated for a whole program: its strides may be many, with periods beyond all bounds.

A period that is not evaluated whole counts as if its beginning repeated.
"""

SHOWN = 8
ENDLESS = 1 << 48
"""More rounds than any run has: a set as large as this has no end."""


@dataclass(frozen=True)
class _Span:
    """The rounds from `first` to `last`; the masks repeat from `first` on."""

    first: int
    last: int
    masks: Masks
    is_whole_period: bool

    def counts(self) -> Iterator[tuple[int, int]]:
        """Yield masks, and the number of rounds that have them."""
        whole, rest = divmod(self.last - self.first + 1, len(self.masks))
        for part, times in ((self.masks, whole), (self.masks[:rest], 1)):
            if times > 0 and len(part) > 0:
                different, counts = np.unique(part, return_counts=True)
                yield from ((int(mask), int(count) * times) for mask, count in zip(different, counts, strict=True))

    def rounds_of(self, rules: int) -> Iterator[int]:
        """Yield in order the rounds in which any of the rules is in force."""
        hits = np.flatnonzero(self.masks & np.uint64(rules)).tolist()
        start = self.first
        while hits and start <= self.last:
            for hit in hits:
                if start + hit > self.last:
                    return
                yield start + hit
            if not self.is_whole_period:
                return
            start += len(self.masks)

    def last_of(self, rules: int) -> int | None:
        """Return the last round in which any of the rules is in force."""
        hits = np.flatnonzero(self.masks & np.uint64(rules))
        whole, rest = divmod(self.last - self.first + 1, len(self.masks))
        if (in_rest := hits[hits < rest]).size:
            return self.first + whole * len(self.masks) + int(in_rest[-1])
        return self.first + (whole - 1) * len(self.masks) + int(hits[-1]) if hits.size and whole > 0 else None


@dataclass(frozen=True)
class Rounds:
    """A set of rounds: its first few, and how many there are, None if it has no end.

    In a `row` there is no gap from the first one to the last one, or to the end.
    """

    first: tuple[int, ...]
    count: int | None
    row: bool

    def text(self) -> str:
        """Return it in words: `round 5`, `rounds 0 to 2`, `rounds 0, 10, 20 … (101 rounds)`, `every round`."""
        if not self.first:
            return "no round"
        start = self.first[0]
        if self.count is None:
            if self.row:
                return "every round" if start == 0 else f"round {start} and all after it"
            return f"rounds {_listed(self.first[:4])} …"
        if self.count == 1:
            return f"round {start}"
        if self.row:
            end = start + self.count - 1
            return f"rounds {start} and {end}" if self.count == 2 else f"rounds {start} to {end}"
        if self.count <= len(self.first):
            return f"rounds {_listed(self.first)}"
        return f"rounds {_listed(self.first[:4])} … ({self.count:,} rounds)"


class RuleRounds:
    """The rounds of all rules, up to and without `end` (default: all that a host can count), were dumping on.

    Rules with `next` have all rounds here, as in the tables.
    """

    def __init__(self, program: Program, end: int | None = None) -> None:
        self._program = program
        self._last = MAX_NUMBER if end is None else end - 1

    @cached_property
    def _spans(self) -> Sequence[_Span]:
        program = self._program
        strides = [(int(stride["first"]), int(stride["last"]), int(stride["step"])) for stride in program.round_strides]
        starts = {int(first) for first in program.rounds["first"]}
        starts |= {first for first, _, _ in strides} | {last + 1 for _, last, _ in strides}
        borders = sorted(start for start in starts if start <= self._last)
        budget = MOST_EVALUATIONS // (len(borders) * max(len(strides), 1))
        longest = max(min(LONGEST_PERIOD, budget), SHORTEST_LOOK)
        spans = []
        for first, after in zip(borders, [*borders[1:], self._last + 1], strict=True):
            period = math.lcm(*(step for low, high, step in strides if low <= first <= high))
            length = min(period, after - first, longest)
            numbers = np.arange(length, dtype=np.uint64) + np.uint64(first)
            masks = rules_by_number(program.rounds, program.round_strides, numbers)
            spans.append(_Span(first, after - 1, masks, length in (period, after - first)))
        return spans

    def counts(self) -> Mapping[int, int]:
        """Return how many rounds have each mask of rules, those without any left out."""
        return self._counts

    @cached_property
    def _counts(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for span in self._spans:
            for mask, count in span.counts():
                if mask:
                    found[mask] = found.get(mask, 0) + count
        return found

    def of(self, rules: int) -> Rounds:
        """Return the rounds in which any of these rules (a mask) is in force."""
        first: list[int] = []
        for span in self._spans:
            for number in span.rounds_of(rules):
                first.append(number)
                if len(first) >= SHOWN:
                    break
            if len(first) >= SHOWN:
                break
        count = sum(number for mask, number in self.counts().items() if mask & rules)
        lasts = [last for span in self._spans if (last := span.last_of(rules)) is not None]
        row = bool(first) and count == max(lasts) - first[0] + 1
        return Rounds(tuple(first), count if count < ENDLESS else None, row)

    def live_rules(self) -> int:
        """Return the mask of the rules that have any round at all."""
        live = 0
        for mask in self.counts():
            live |= mask
        return live


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
