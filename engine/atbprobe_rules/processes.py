"""Processes by name: a pid alone may be handed on to another process, a pid with its start time is not."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_START_TIME_FIELD = 22
_FIRST_FIELD_AFTER_NAME = 3


def start_time_of(pid: int) -> int:
    """Return when the process was started, in clock ticks since boot (field 22 of /proc/<pid>/stat); 0: no such one.

    A process that has ended and was not waited for yet counts as gone.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # The program's name stands in parentheses and may hold blanks and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    state = fields[0]
    return 0 if state in "ZX" else int(fields[_START_TIME_FIELD - _FIRST_FIELD_AFTER_NAME])


@dataclass(frozen=True)
class ProcessName:
    """A process for good."""

    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> ProcessName | None:
        """Name the running process `pid`; None if there is none."""
        start_time = start_time_of(pid)
        return cls(pid, start_time) if start_time else None

    @classmethod
    def of_this(cls) -> ProcessName:
        """Name the process that asks."""
        return cls(os.getpid(), start_time_of(os.getpid()))

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return start_time_of(self.pid) == self.start_time
