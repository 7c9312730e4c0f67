"""The kernel's inotify, as far as it is needed here: watches on single inodes, and events as the kernel has them.

watchdog's observer is not used for this, since it holds back the event of a name that was moved away, and all behind
it, for half a second, waiting for the other half of the move. Who only wants to know that something has changed need
not wait for that, nor for the three threads between the kernel and a handler.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# <sys/inotify.h>, the same on all machines.
MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
OVERFLOW = 0x4000
_MASK_ADD = 0x20000000

_HEADER = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER_BYTES = 1 << 16


@dataclass(frozen=True)
class InotifyEvent:
    """`watch` is what `Inotify.add` returned, -1 for OVERFLOW; `name` is empty where the inode itself is meant."""

    watch: int
    mask: int
    name: str


class Inotify:
    """An inotify instance: a descriptor to poll, which never blocks. Raises OSError if the user has too many."""

    def __init__(self) -> None:
        self._descriptor = _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), None)

    def fileno(self) -> int:
        """Return the descriptor, which is readable when there are events."""
        return self._descriptor

    def close(self) -> None:
        """End all watches."""
        os.close(self._descriptor)

    def add(self, path: Path, mask: int) -> int:
        """Watch the inode behind `path`, links followed, for `mask` and what it was watched for before.

        Returns the number of its watch, the same for the same inode; raises OSError.
        """
        return _checked(_libc().inotify_add_watch(self._descriptor, os.fsencode(path), mask | _MASK_ADD), path)

    def remove(self, watch: int) -> None:
        """End a watch; one that has gone with its inode is no mistake."""
        _libc().inotify_rm_watch(self._descriptor, watch)

    def read(self) -> Iterator[InotifyEvent]:
        """Take the events that are there now; none if there are none."""
        try:
            data = os.read(self._descriptor, _BUFFER_BYTES)
        except BlockingIOError:
            return
        place = 0
        while place < len(data):
            watch, mask, _, length = _HEADER.unpack_from(data, place)
            place += _HEADER.size
            yield InotifyEvent(watch, mask, os.fsdecode(data[place : place + length].rstrip(b"\0")))
            place += length


def _checked(result: int, path: Path | None) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, _REASONS.get(number, os.strerror(number)), None if path is None else str(path))
    return result


_REASONS = {
    # What the kernel calls these is "No space left on device" and "Too many open files".
    errno.ENOSPC: "no inotify watch is left, see fs.inotify.max_user_watches",
    errno.EMFILE: "no inotify instance is left, see fs.inotify.max_user_instances",
}


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.inotify_init1.argtypes = [ctypes.c_int]
    library.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    library.inotify_rm_watch.argtypes = [ctypes.c_int, ctypes.c_int]
    return library
