"""The two kinds of expected failure. Their text is written for the person at the terminal.

Anything else that is raised is a fault of this program and keeps its traceback.
"""

from __future__ import annotations


class AtbprobeError(Exception):
    """What was asked for cannot be done, and the message says why."""


class IncompleteError(AtbprobeError):
    """It was done, but something was lost or is not all there."""
