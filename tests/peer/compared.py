"""The sums over all runs side by side, for the end of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from library_run import HEADER, Dump


@dataclass
class Compared:
    """How much was compared, how often each purposeful difference was met, and what the peer did only sometimes."""

    header: str = ""
    combinations: list[str] = field(default_factory=list)
    runs: int = 0
    files: int = 0
    rows: int = 0
    differences: Counter[str] = field(default_factory=Counter)
    runs_again: int = 0
    lost: int = 0
    failures: int = 0
    notes: list[str] = field(default_factory=list)

    def note(self, dump: Dump, differences: Counter[str]) -> None:
        """Add one run under each library, of which ours left `dump`."""
        self.runs += 1
        self.files += len(dump.files)
        self.rows += count_rows(dump)
        self.differences += differences


def count_rows(dump: Dump) -> int:
    return sum(map(len, dump.rows.values()))


def count_lost_rows(ours: Dump, peer: Dump) -> int:
    """How many of our rows the peer does not have whole: threads of it tear each other's rows."""
    columns = HEADER.count(",") + 1
    return count_rows(ours) - sum(len(row) == columns for rows in peer.rows.values() for row in rows)
