"""The channel of one config, seen from Python: where it is, what is published in it, which processes are attached.

Making and publishing are the native library's (a store from Python orders nothing on every machine); reading is done
here, through numpy views of the mapped control file. The layout stands in interposer/channel_format.h, which tells
how the parts play together; a test holds both sides together.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import mmap
import os
import shlex
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atbprobe_rules import native
from atbprobe_rules.attached_process import Process, process_of
from atbprobe_rules.channel_layout import (
    BEGIN,
    CLOSED,
    CONTROL,
    CONTROL_BYTES,
    SLOT,
    SLOT_COUNT,
    SLOTS_OFFSET,
)
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.image import ImageError, decode
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.selection import MAX_RULES
from atbprobe_rules.whole_file import write_whole_file

# What the watcher leaves beside the control file.
LOG_NAME = "watch.log"
WATCHER_NOTE = "watcher.json"
REJECTED_NOTE = "rejected.json"

LOCK_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.002
"""A file lock is waited for with a limit only by asking again."""

GONE_MARK = ".gone-"
"""In the name of a channel's folder that is being taken away."""


class ChannelError(AtbprobeError):
    """The channel cannot be used: damaged, of another version, of another user, or no room for it."""


@dataclass(frozen=True)
class Published:
    """What is in force: its generation, the SHA-256 of the config file it came from, its rules' names, and when it
    was published (nanoseconds since 1970)."""

    generation: int
    config_hash: str
    rule_names: tuple[str, ...]
    published_at: int


def channel_folder(config: str) -> Path:
    """Return the folder of the channel that belongs to `config`, an absolute path as in ``ATB_DUMP_CONFIG``."""
    return Path(native.channel_path(str(runtime_folder()), config))


def runtime_folder() -> Path:
    """Return the folder that holds the channels of this user; the probe library looks for it in the same place."""
    folder = Path(os.environ.get("ATBPROBE_RUNTIME_DIR") or f"/dev/shm/atbprobe-{os.geteuid()}")
    if not folder.is_absolute():
        raise ChannelError(f"ATBPROBE_RUNTIME_DIR must be an absolute path, not {folder}")
    return folder


def existing_channels() -> list[Path]:
    """Return the folders of all channels of this user that are there now."""
    try:
        folders = [folder for folder in runtime_folder().iterdir() if GONE_MARK not in folder.name]
        return sorted(folder for folder in folders if (folder / "control").exists())
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def runtime_lock(folder: Path) -> Iterator[None]:
    """Hold the lock under which watchers come and go; it is a lock on the folder that holds the channels.

    That folder is made if need be, and taken away at the end if nothing is in it. Raises ChannelError if somebody else
    keeps the lock: it ends with a process that is killed, but not with one that is stopped.
    """
    runtime = folder.parent
    while True:
        runtime.mkdir(mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(runtime, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            _lock(descriptor, runtime)
            if is_still(runtime, descriptor):
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):
                        runtime.rmdir()
                return
        finally:
            os.close(descriptor)


def _lock(descriptor: int, runtime: Path) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise ChannelError(
                    f"{runtime} has been locked by another command for {LOCK_SECONDS:g} s: is one stopped? "
                    f"`fuser -v {shlex.quote(str(runtime))}` names it"
                ) from None
            time.sleep(_LOCK_POLL_SECONDS)


def remove_channel(folder: Path) -> None:
    """Take the channel in `folder` away; to be called under the runtime lock. Attached processes attach anew."""
    # Away from its place first: a process that hears of the end makes a channel there at once.
    gone = folder.with_name(f"{folder.name}{GONE_MARK}{os.getpid()}")
    with contextlib.suppress(OSError):
        folder.rename(gone)
    close_and_remove(gone)


def close_and_remove(gone: Path) -> None:
    """Finish what `remove_channel` does, with a channel that is out of its place."""
    with contextlib.suppress(OSError):
        native.channel_close(str(gone))
    shutil.rmtree(gone, ignore_errors=True)


def is_still(path: Path, descriptor: int) -> bool:
    """Tell whether `path` names what is open as `descriptor`."""
    try:
        now = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(now, os.fstat(descriptor))


class Channel:
    """A channel that is there. Use `create` to make it, `attach` to look at one; `close` gives the mapping back."""

    def __init__(self, folder: Path, memory: mmap.mmap) -> None:
        self.folder = folder
        self._memory = memory
        self._control = np.frombuffer(memory, CONTROL, 1)[0:1]
        self._slots = np.frombuffer(memory, SLOT, SLOT_COUNT, SLOTS_OFFSET)

    @classmethod
    def create(cls, folder: Path) -> Channel:
        """Make what is missing of the channel in `folder` and attach to it; raises ChannelError."""
        try:
            native.channel_create(str(folder))
        except OSError as error:
            raise ChannelError(_reason(folder, error)) from error
        return cls.attach(folder)

    @classmethod
    def attach(cls, folder: Path) -> Channel:
        """Look at the channel in `folder`; raises FileNotFoundError if there is none, ChannelError if it is bad."""
        descriptor = os.open(folder / "control", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                raise ChannelError(f"the channel {folder} belongs to another user")
            if os.fstat(descriptor).st_size != CONTROL_BYTES:
                raise ChannelError(_damaged(folder))
            begin = os.pread(descriptor, len(BEGIN), 0)
            if begin != BEGIN:
                raise ChannelError(_damaged(folder))
            memory = mmap.mmap(descriptor, CONTROL_BYTES, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(descriptor)
        return cls(folder, memory)

    def close(self) -> None:
        """Give the mapping back."""
        del self._control, self._slots
        self._memory.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, image: bytes) -> int:
        """Put `image` in force in every attached process, at its next operation; return its generation."""
        try:
            return native.publish(str(self.folder), image)
        except OSError as error:
            raise ChannelError(_reason(self.folder, error)) from error

    @property
    def generation(self) -> int:
        """The published generation; 0: none yet; CLOSED: the channel is going away."""
        return int(self._control["generation"][0])

    def published(self) -> Published | None:
        """Return what is in force, None before the first publish."""
        while (generation := self.generation) not in (0, CLOSED):
            try:
                data = (self.folder / f"image-{generation}").read_bytes()
            except FileNotFoundError:
                if self.generation == generation:
                    raise ChannelError(f"{self.folder}: the image of generation {generation} is gone") from None
                continue  # another one was published meanwhile
            try:
                image = decode(data)
            except ImageError as error:
                raise ChannelError(f"{self.folder}: generation {generation} is damaged: {error}") from error
            return Published(
                generation,
                image.config_hash.hex(),
                image.rule_names,
                int(self._control["published_at"][0]),
            )
        return None

    def watcher(self) -> ProcessName | None:
        """Return the watcher that last gave a sign of life and has not withdrawn, dead or alive."""
        pid = int(self._control["watcher_pid"][0])
        return ProcessName(pid, int(self._control["watcher_start_time"][0])) if pid else None

    def processes(self, rule_count: int = MAX_RULES) -> list[Process]:
        """Return all processes that hold a slot, those that have died since included, with `rule_count` hits each."""
        held = np.flatnonzero(self._slots["owner"])
        # The lanes first: what ops that are seen to have ended have queued is then seen to be queued, or is written.
        lanes = self._slots["lanes"][held]
        slots = self._slots[held]
        return [process_of(slot, own, rule_count) for slot, own in zip(slots, lanes, strict=True)]

    def live_processes(self) -> list[Process]:
        """Return the processes that are running and attached."""
        return [process for process in self.processes() if process.alive]

    def read_note(self, name: str) -> dict[str, Any] | None:
        """Return a note that the watcher left beside the control file; None if there is none (any more)."""
        try:
            note = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return note if isinstance(note, dict) else None

    def write_note(self, name: str, note: dict[str, Any] | None) -> None:
        """Leave a note for whoever asks, whole or not at all; None takes it away. Raises ChannelError."""
        path = self.folder / name
        try:
            if note is None:
                path.unlink(missing_ok=True)
            else:
                write_whole_file(path, json.dumps(note).encode())
        except OSError as error:
            raise ChannelError(_reason(self.folder, error)) from error


def _damaged(folder: Path) -> str:
    return (
        f"the channel {folder} is damaged or of another version of atbprobe-rules: "
        "end the processes that use it, then remove the folder"
    )


def _reason(folder: Path, error: OSError) -> str:
    if error.errno == errno.EPROTO:
        return _damaged(folder)
    if error.errno == errno.EPERM:
        return f"the channel {folder} or the folder that holds it is not a private folder of this user"
    return f"the channel {folder} cannot be used: {os.strerror(error.errno or 0)}"
