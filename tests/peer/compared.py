"""The sums over all runs side by side, for the end of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from library_run import Dump


@dataclass
class Compared:
    """How much was compared, and how often each purposeful difference was met."""

    combinations: list[str] = field(default_factory=list)
    runs: int = 0
    files: int = 0
    rows: int = 0
    differences: Counter[str] = field(default_factory=Counter)

    def note(self, dump: Dump, differences: Counter[str], line: str = "") -> None:
        """Add one run under each library, of which ours left `dump`."""
        self.runs += 1
        self.files += len(dump.files)
        self.rows += sum(map(len, dump.rows.values()))
        self.differences += differences
        if line:
            self.combinations.append(line)
