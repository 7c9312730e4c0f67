"""Compares a run of ours with one of the peer, which is run again when its threads lost a row or a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from compared import Compared, count_rows
from differences import RACES, UnexplainedError, compare
from library_run import BrokenTableError, DiedError, Dump

# What is missing in as many runs in a row is not lost to chance.
MOST_RUNS = 6


def run_complete(run_peer: Callable[[], Dump], count_lost: Callable[[Dump], int], compared: Compared) -> Dump:
    """Run the peer until it lost nothing; raises UnexplainedError if that never happens."""
    outcomes = []
    for _ in range(MOST_RUNS):
        try:
            dump = run_peer()
        except (DiedError, BrokenTableError) as error:
            compared.failures += 1
            outcomes.append(str(error))
        else:
            lost = count_lost(dump)
            if lost == 0:
                return dump
            compared.lost += lost
            outcomes.append(f"{lost} rows or files lost or torn, beside {count_rows(dump) + len(dump.files)}")
        compared.runs_again += 1
    raise UnexplainedError(f"no run under the peer was complete: {outcomes}")


def compare_complete(ours: Dump, run_peer: Callable[[], Dump], compared: Compared) -> Counter[str]:
    """Return how often each purposeful difference was met, and note it; raises UnexplainedError for any other one."""
    peer = run_complete(run_peer, lambda dump: sum(compare(ours, dump)[race] for race in RACES), compared)
    differences = compare(ours, peer)
    compared.note(ours, differences)
    return differences
