"""A FUSE file system with one file, whose content is that of another file at the moment: as on a file server.

    python fuse_file.py MOUNTPOINT BACKING COMMAND...

Mounts it at MOUNTPOINT, where it holds `config.json`, and becomes COMMAND; a forked process serves it until COMMAND has
ended. An edit of BACKING makes no event below MOUNTPOINT, since the kernel does not know of it. To be run in a mount
namespace of its own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
import sys
from pathlib import Path

NAME = b"config.json"
TYPE = "fuse.oneserver"

# <linux/fuse.h>
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 27, 28, 29, 36, 42
_REQUEST = struct.Struct("<IIQQIIII")
_ANSWER = struct.Struct("<IiQ")
_INIT = struct.Struct("<IIIIHHIIHHI28x")
_ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
_ENTRY = struct.Struct("<QQQQII")
_ATTRIBUTES_HEAD = struct.Struct("<QII")
_OPENED = struct.Struct("<QII")
_RANGE = struct.Struct("<QQI")
_DIRECT_IO = 1
_BUFFER_BYTES = 1 << 20
_ROOT, _FILE = 1, 2
_MAJOR, _MINOR = 7, 31


def mount(point: str, device: int) -> None:
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"oneserver", os.fsencode(point), TYPE.encode(), ctypes.c_ulong(0), options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount")


def attributes(node: int, backing: Path) -> bytes:
    found = backing.stat()
    mode = stat.S_IFDIR | 0o755 if node == _ROOT else stat.S_IFREG | stat.S_IMODE(found.st_mode)
    size = 0 if node == _ROOT else found.st_size
    seconds = int(found.st_mtime)
    nanoseconds = found.st_mtime_ns % 1_000_000_000
    times = (seconds, seconds, seconds, nanoseconds, nanoseconds, nanoseconds)
    return _ATTRIBUTES.pack(node, size, 0, *times, mode, 1, found.st_uid, found.st_gid, 0, 4096, 0)


def listing() -> bytes:
    entry = struct.pack("<QQII", _FILE, 1, len(NAME), stat.S_IFREG >> 12) + NAME
    return entry.ljust((len(entry) + 7) // 8 * 8, b"\0")


def answer(operation: int, node: int, body: bytes, backing: Path) -> bytes | int:
    """Return the body of the answer, or an errno. Nothing may be remembered: all times of validity are 0."""
    if operation == INIT:
        return _INIT.pack(_MAJOR, _MINOR, 0, 0, 0, 0, 4096, 1, 0, 0, 0)
    if operation == LOOKUP:
        if body.rstrip(b"\0") != NAME:
            return errno.ENOENT
        return _ENTRY.pack(_FILE, 0, 0, 0, 0, 0) + attributes(_FILE, backing)
    if operation == GETATTR:
        return _ATTRIBUTES_HEAD.pack(0, 0, 0) + attributes(node, backing)
    if operation in (OPEN, OPENDIR):
        return _OPENED.pack(0, _DIRECT_IO, 0)
    if operation in (READ, READDIR):
        _, offset, size = _RANGE.unpack_from(body)
        if operation == READDIR:
            return listing() if offset == 0 else b""
        return backing.read_bytes()[offset : offset + size]
    return b"" if operation in (RELEASE, RELEASEDIR, FLUSH) else errno.ENOSYS


def serve(device: int, backing: Path, parent: int) -> None:
    """Answer until the process behind the pidfd `parent` has ended."""
    poll = select.poll()
    poll.register(device, select.POLLIN)
    poll.register(parent, select.POLLIN)
    while parent not in [descriptor for descriptor, _ in poll.poll()]:
        data = os.read(device, _BUFFER_BYTES)
        _, operation, unique, node, *_ = _REQUEST.unpack_from(data)
        if operation in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        found = answer(operation, node, data[_REQUEST.size :], backing)
        error, body = (-found, b"") if isinstance(found, int) else (0, found)
        os.write(device, _ANSWER.pack(_ANSWER.size + len(body), error, unique) + body)


def main() -> None:
    point, backing, *command = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    mount(point, device)
    parent = os.pidfd_open(os.getpid())
    if os.fork() == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # whoever reads what COMMAND says waits for its end
        serve(device, Path(backing), parent)
        os._exit(0)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
