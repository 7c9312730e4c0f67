"""What it costs every process of a shell to have a library preloaded: the time that /bin/true takes longer."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Mapping, Sequence

from benchmarks.libraries import Library

PROGRAM = "/bin/true"
PAIRS = 60
ROUNDS_BESIDE = 200


def measure(library: Library) -> float:
    """Return microseconds, the median over pairs of starts with and without the library."""
    preloaded = {"LD_PRELOAD": str(library.path)}
    return statistics.median(_seconds(preloaded) - _seconds({}) for _ in range(PAIRS)) * 1e6


def measure_beside(libraries: Sequence[Library]) -> dict[str, float]:
    """Return microseconds by name: what a start takes without any ("none"), and how much longer with each library.

    Rounds of one start each, so that each library's start stands beside one without; medians over them.
    """
    order = random.Random(1)
    environments: dict[str, dict[str, str]] = {
        "none": {},
        **{library.name: {"LD_PRELOAD": str(library.path)} for library in libraries},
    }
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS_BESIDE):
        # What runs after the largest library pays for the cold caches, so that nobody has a fixed place.
        names = order.sample(sorted(environments), len(environments))
        rounds.append({name: _seconds(environments[name]) for name in names})
    bare = statistics.median(seconds["none"] for seconds in rounds)
    longer = {
        library.name: statistics.median(seconds[library.name] - seconds["none"] for seconds in rounds)
        for library in libraries
    }
    return {name: round(seconds * 1e6, 1) for name, seconds in {"none": bare, **longer}.items()}


def _seconds(environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    pid = os.posix_spawn(PROGRAM, [PROGRAM], environment)
    _, status = os.waitpid(pid, 0)
    elapsed = time.perf_counter() - start
    if status != 0:
        raise AssertionError(f"{PROGRAM} ended with {status}")
    return elapsed
