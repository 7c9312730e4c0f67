"""Medians of alternated runs: ours, the peer's, and how many times cheaper ours is in the same round."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.libraries import Library


@dataclass(frozen=True)
class Result:
    """One line of the table. Without a peer, `peer` and `ratio` are None."""

    name: str
    unit: str
    ours: float
    peer: float | None
    ratio: float | None
    ratios: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": round(self.ours, 2),
            "peer": None if self.peer is None else round(self.peer, 2),
            "ratio": None if self.ratio is None else round(self.ratio, 1),
            "ratios": [round(ratio, 1) for ratio in self.ratios],
        }


def compare(
    name: str, unit: str, measure: Callable[[Library], float], ours: Library, peer: Library | None, rounds: int
) -> Result:
    """Measure in turns, `rounds` times each."""
    our_values = []
    peer_values = []
    for _ in range(rounds):
        our_values.append(measure(ours))
        if peer is not None:
            peer_values.append(measure(peer))
    ratios = tuple(their / our for our, their in zip(our_values, peer_values, strict=False))
    return Result(
        name,
        unit,
        statistics.median(our_values),
        statistics.median(peer_values) if peer_values else None,
        statistics.median(ratios) if ratios else None,
        ratios,
    )
