"""A .bin on disk: opened so that nothing hostile is waited for or followed, measured, and its data read.

The data lie behind the header as they were in memory. Whoever wants all of it gets the file mapped where it is large
and the header's length leaves its elements aligned, a copy otherwise. Blocks are read one by one.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atbprobe_rules.dump.bin_header import MOST_HEADER_BYTES, BinHeader, parse_bin_header
from atbprobe_rules.dump.dump_error import DumpError

LEAST_MAPPED_BYTES = 1 << 18
"""Less is copied: a mapping costs page faults and, before Python 3.13, a descriptor for as long as it lasts."""

_WITHOUT_DESCRIPTOR: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
_USUAL_HEADER_BYTES = 1024


class BinFile:
    """A .bin whose header has been read and whose size is what that says; `header` and `path` are given.

    It holds no descriptor. A file that is not the same any more when its data are wanted is an error.
    """

    def __init__(
        self, path: str | os.PathLike[str], header: BinHeader, identity: tuple[int, ...], follow_link: bool
    ) -> None:
        self._path = path
        self.header = header
        self._identity = identity
        self._follow_link = follow_link

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, follow_link: bool = True) -> BinFile:
        """Read a header and check the size of the file against it.

        Raises DumpError for a file that is no .bin, is cut short, or goes on behind its data; for a folder, pipe or
        device; and for a symbolic link, unless `follow_link`. OSError if it cannot be read.
        """
        with _regular_file(path, follow_link) as (descriptor, status):
            start = _header_bytes(descriptor)
        header = parse_bin_header(start, path)
        _check_size(path, header, status.st_size)
        return cls(path, header, _identity(status), follow_link)

    @property
    def path(self) -> Path:
        return Path(self._path)

    def data(self, alignment: int = 1) -> memoryview:
        """Return all data as bytes, read-only, at an address that is a multiple of `alignment` (at most 16)."""
        with self.opened() as descriptor:
            if self.header.length % alignment == 0 and self.header.data_bytes >= LEAST_MAPPED_BYTES:
                mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ, **_WITHOUT_DESCRIPTOR)
                return memoryview(mapped)[self.header.length :]
            data = bytearray(self.header.data_bytes)
            self._fill(descriptor, memoryview(data), 0)
        return memoryview(data).toreadonly()

    def blocks(self, block_bytes: int) -> Iterator[bytearray]:
        """Yield the data in order, `block_bytes` at a time, each block in memory of its own."""
        with self.opened() as descriptor:
            for begin in range(0, self.header.data_bytes, block_bytes):
                block = bytearray(min(block_bytes, self.header.data_bytes - begin))
                self._fill(descriptor, memoryview(block), begin)
                yield block

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Give a descriptor of the file, whose data begin at `header.length`; DumpError if it is another by now."""
        with _regular_file(self._path, self._follow_link) as (descriptor, status):
            if _identity(status) != self._identity:
                raise DumpError(self.path, "the file has been replaced or changed since its header was read")
            yield descriptor

    def cut_short(self, offset: int) -> DumpError:
        """Return the error of a file that has ended at `offset` since its header was read."""
        return DumpError(self.path, "the file was cut short while it was read", offset)

    def _fill(self, descriptor: int, block: memoryview, begin: int) -> None:
        filled = 0
        while filled < len(block):
            offset = self.header.length + begin + filled
            read = os.preadv(descriptor, [block[filled:]], offset)
            if read == 0:
                raise self.cut_short(offset)
            filled += read


@contextmanager
def _regular_file(path: str | os.PathLike[str], follow_link: bool) -> Iterator[tuple[int, os.stat_result]]:
    """Open a file for reading without waiting for anybody, as a pipe would, and without reading a device."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags if follow_link else flags | os.O_NOFOLLOW)
    except ValueError as error:  # a NUL in the name
        raise DumpError(path, str(error)) from error
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_link and Path(path).is_symlink():
            raise DumpError(path, "this is a symbolic link, which the probe does not make") from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DumpError(path, f"this is {_kind(status.st_mode)}, not a file")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _header_bytes(descriptor: int) -> bytes:
    """What parse_bin_header wants; nearly always a fraction of the most that a header may be."""
    start = _read_at(descriptor, _USUAL_HEADER_BYTES, 0)
    if len(start) < _USUAL_HEADER_BYTES or b"\n$End=" in start:
        return start
    return start + _read_at(descriptor, MOST_HEADER_BYTES - len(start), len(start))


def _read_at(descriptor: int, size: int, offset: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(descriptor, size, offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)


def _check_size(path: str | os.PathLike[str], header: BinHeader, size: int) -> None:
    there = size - header.length
    if there < header.data_bytes:
        raise DumpError(path, f"the file ends after {there:,} of {header.data_bytes:,} bytes of data", size)
    if there > header.data_bytes:
        end = header.length + header.data_bytes
        raise DumpError(path, f"{there - header.data_bytes:,} bytes follow the data: a second record?", end)
