"""Compares a run of ours with one of the peer, which is run again when its threads lost a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from compared import Compared
from differences import ROW_RACE, UnexplainedError, compare
from library_run import DiedError, Dump

# A row that is missing in as many runs in a row is not lost to chance.
MOST_RUNS = 6


def run_complete(run_peer: Callable[[], Dump], rows_lost: Callable[[Dump], int], compared: Compared) -> Dump:
    """Run the peer until it lost no row; raises UnexplainedError if that never happens."""
    for _ in range(MOST_RUNS):
        try:
            dump = run_peer()
        except DiedError:
            compared.deaths += 1
        else:
            lost = rows_lost(dump)
            if lost == 0:
                return dump
            compared.rows_lost += lost
        compared.runs_again += 1
    raise UnexplainedError(f"none of {MOST_RUNS} runs under the peer was complete")


def compare_complete(ours: Dump, run_peer: Callable[[], Dump], compared: Compared) -> Counter[str]:
    """Return how often each purposeful difference was met, and note it; raises UnexplainedError for any other one."""
    peer = run_complete(run_peer, lambda dump: compare(ours, dump)[ROW_RACE], compared)
    differences = compare(ours, peer)
    compared.note(ours, differences)
    return differences
