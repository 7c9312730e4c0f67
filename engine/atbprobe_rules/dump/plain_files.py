"""Folders, and files that are small and read whole; links are not followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from atbprobe_rules.dump.dump_error import DumpError


def read_small_file(path: Path, most: int) -> bytes | None:
    """Return a file's content; None if there is none, DumpError if it is no file or larger than `most` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DumpError(path, "this is not a file")
        content = file.read(most + 1)
    if len(content) > most:
        raise DumpError(path, f"this is larger than {most:,} bytes")
    return content


def folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder, but for hidden ones and links; raises OSError."""
    with os.scandir(folder) as entries:
        return [
            folder / entry.name
            for entry in entries
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]
