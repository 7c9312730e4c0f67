"""What the exit code of every command means."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, the same everywhere; NO wins over INCOMPLETE."""

    FINE = 0
    NO = 1  # refused, differs, timed out
    USAGE = 2
    INCOMPLETE = 3  # something was lost or is not all there
    NOTHING_SELECTED = 4  # only with --fail-empty
    INTERRUPTED = 130
