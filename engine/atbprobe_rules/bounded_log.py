"""A log that keeps its newest lines and never grows beyond a limit, whatever is reported to it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LIMIT = 1 << 20
"""Bytes; what a watcher's log takes of shared memory at most."""

_LEFT_OUT = b"... older lines were left out\n"
_CUT = b"\n... cut"


def open_log(path: Path) -> int:
    """Open or make the log file at `path` as descriptor for `BoundedLog`; raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


class BoundedLog:
    """Writes to an open file, from `open_log`; what others write to the same one counts and is kept likewise."""

    def __init__(self, descriptor: int, limit: int = LIMIT) -> None:
        self._descriptor = descriptor
        self._limit = limit

    def write(self, text: str) -> None:
        """Append `text` and a line end; a text of more than a quarter of the limit is cut. Never raises OSError.

        Where the log would grow too long, the older half of it goes first.
        """
        data = text.encode("utf-8", "backslashreplace")
        if len(data) > self._limit // 4:
            data = data[: self._limit // 4] + _CUT
        with contextlib.suppress(OSError):  # a full disk under the log must not end who reports
            self._make_room(len(data) + 1)
            os.write(self._descriptor, data + b"\n")

    def _make_room(self, size: int) -> None:
        length = os.fstat(self._descriptor).st_size
        if length + size <= self._limit:
            return
        kept = os.pread(self._descriptor, self._limit // 2, max(0, length - self._limit // 2))
        newest = kept[kept.find(b"\n") + 1 :]
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, _LEFT_OUT + newest)
