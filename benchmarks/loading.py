"""What it costs every process of a shell to have a library preloaded: the time that /bin/true takes longer."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping

from benchmarks.libraries import Library

PROGRAM = "/bin/true"
PAIRS = 60


def measure(library: Library) -> float:
    """Return microseconds, the median over pairs of starts with and without the library."""
    preloaded = {"LD_PRELOAD": str(library.path)}
    return statistics.median(_seconds(preloaded) - _seconds({}) for _ in range(PAIRS)) * 1e6


def _seconds(environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    pid = os.posix_spawn(PROGRAM, [PROGRAM], environment)
    _, status = os.waitpid(pid, 0)
    elapsed = time.perf_counter() - start
    if status != 0:
        raise AssertionError(f"{PROGRAM} ended with {status}")
    return elapsed
