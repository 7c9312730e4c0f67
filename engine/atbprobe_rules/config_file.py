"""Reading a config file from outside: what is there at this moment, and may it be trusted?

The file must belong to this user or to root and not be writable by group or others: whoever can write it decides
what a model's process writes to disk. Links are followed, since a ConfigMap is swapped by one; the rules are those
of the file behind them.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from atbprobe_rules.check import MAX_BYTES

NO_FILE_HASH = bytes(32)
"""In place of a content's SHA-256: the rules of a config that was deleted, under which nothing is dumped."""


@dataclass(frozen=True)
class Reading:
    """What was found: the content, or why there is none. Two equal readings need no second look.

    `data` holds at most one byte more than a config may have. `missing` says that there is no file; `fault` says in
    words why a file that is there was not read. With `distrusted` that is its owner or its mode, and whoever reads a
    file from anybody has the data all the same.
    """

    data: bytes | None = None
    missing: bool = False
    fault: str | None = None
    distrusted: bool = False

    @property
    def content_hash(self) -> bytes:
        """The SHA-256 of the content; of the fault where there is one, which no content in force has; NO_FILE_HASH."""
        if self.missing:
            return NO_FILE_HASH
        return hashlib.sha256(f"fault: {self.fault}".encode() if self.data is None else self.data).digest()


def read_config_file(path: Path, *, from_anybody: bool = False) -> Reading:
    """Read the config file at `path`; never raises on account of the file.

    `from_anybody`: also one that others may write; for whoever only looks at what it would select.
    """
    try:
        # Without O_NONBLOCK a pipe by that name would hold the watcher for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return Reading(missing=True)
    except OSError as error:
        return Reading(fault=f"{path}: {error.strerror}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Reading(fault=f"{path} is not a regular file")
        fault = _distrust(path, status)
        if fault is not None and not from_anybody:
            return Reading(fault=fault, distrusted=True)
        return Reading(_read(descriptor, MAX_BYTES + 1), fault=fault, distrusted=fault is not None)
    except OSError as error:
        return Reading(fault=f"{path}: {error.strerror}")
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.read(descriptor, limit)):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _distrust(path: Path, status: os.stat_result) -> str | None:
    owned = status.st_uid in (os.geteuid(), 0)
    closed = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if owned and closed:
        return None
    return (
        f"{path} belongs to {_user_name(status.st_uid)} and has mode {stat.S_IMODE(status.st_mode):04o}: "
        "it must belong to you or to root, and nobody else may write it"
    )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
