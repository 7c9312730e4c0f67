"""A request to list ops: a folder in a channel's folder, into which the threads of the attached processes answer.

interposer/listing_format.h has names and format. The folder is the request: it ends when the folder goes, and counts
for nothing once its asker is dead, so that nothing has to be taken back in the processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atbprobe_rules import native
from atbprobe_rules.channel import Channel
from atbprobe_rules.leftovers import remove_dead_requests
from atbprobe_rules.listing.records import END_RECORD_BYTES, MAX_ANSWER_BYTES, Answer, AnswerError, has_end, read_answer
from atbprobe_rules.processes import ProcessName

MOST_ROUNDS = 1000
"""As many as a process lists for one request."""

_ANSWER = re.compile(r"([1-9]\d{0,9})-([1-9]\d{0,9})")
_NUMBER_BITS = 48


@dataclass(frozen=True)
class AnswerFile:
    """The answer of one thread as it is now; `is_finished`: nothing more comes."""

    path: Path
    pid: int
    thread: int
    is_finished: bool

    def read(self) -> Answer:
        """Return what it holds; raises AnswerError, OSError."""
        with _opened(self.path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_ANSWER_BYTES + 1)
        if len(data) > MAX_ANSWER_BYTES:
            raise AnswerError("it is larger than a process writes")
        return read_answer(data)


class OpsRequest:
    """A request that is being answered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def answers(self) -> list[AnswerFile]:
        """Return all answers as they are now. Raises FileNotFoundError if the channel was taken away."""
        found = []
        for path in sorted(self._folder.iterdir()):
            name = _ANSWER.fullmatch(path.name)
            if name is not None:
                with contextlib.suppress(OSError):  # not a file of ours
                    found.append(AnswerFile(path, int(name[1]), int(name[2]), _is_finished(path)))
        return found


@contextlib.contextmanager
def ops_requested(channel: Channel, rounds: int) -> Iterator[OpsRequest]:
    """Ask all attached processes for the ops of their next `rounds` rounds, until the end of the block.

    Raises OSError where no request can be made.
    """
    if not 1 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"rounds must be from 1 to {MOST_ROUNDS}")
    remove_dead_requests(channel.folder)
    asker = ProcessName.of_this()
    number = secrets.randbits(_NUMBER_BITS)
    folder = channel.folder / f"ops-{asker.pid}-{asker.start_time}-{number}-{rounds}"
    folder.mkdir(mode=0o700)
    try:
        native.channel_ring(str(channel.folder))
        yield OpsRequest(folder)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    # Out of its place first: a process that is about to answer would put a file into a folder that is being emptied.
    gone = folder.with_name(f"{folder.name}.gone")
    with contextlib.suppress(OSError):
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _is_finished(path: Path) -> bool:
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        return has_end(os.pread(descriptor, END_RECORD_BYTES, max(size - END_RECORD_BYTES, 0)))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
