"""Listing the ops of all processes that are attached to a channel: asking, waiting, and what has come of it."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atbprobe_rules.attached_process import Process
from atbprobe_rules.channel import Channel, ChannelError
from atbprobe_rules.listing.ops import ListedOp, ops_of
from atbprobe_rules.listing.records import AnswerError, ListingEnd
from atbprobe_rules.listing.request import AnswerFile, OpsRequest, ops_requested

POLL_SECONDS = 0.02
GRACE_SECONDS = 1.0
"""What other threads of a process have to show that they take part, once one of them has finished."""


class Outcome(enum.Enum):
    """How far a process has come with its answer."""

    COMPLETE = "complete"
    IDLE = "idle"  # it has executed no op since it was asked
    SILENT = "silent"  # it has executed ops, and no layer-level one that it would have listed
    UNFINISHED = "unfinished"  # its rounds were not over in time
    ENDED = "ended"  # the process, before its rounds were over
    TOO_LARGE = "too large"  # there is more than a process keeps for this
    DAMAGED = "damaged"


@dataclass(frozen=True)
class ProcessListing:
    """What one process has listed. `ops` are there as far as they came, whatever the outcome; `device` is -1 if it has
    none; `ops_executed` counts those that it has executed in the meantime; `problem` is why an answer is damaged."""

    pid: int
    device: int
    outcome: Outcome
    ops_executed: int
    ops: tuple[ListedOp, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Listing:
    """What all processes have listed, in order of their pids."""

    processes: tuple[ProcessListing, ...]

    @property
    def ops(self) -> list[ListedOp]:
        """All ops of all processes."""
        return [op for process in self.processes for op in process.ops]

    @property
    def is_complete(self) -> bool:
        """Whether every process has listed all that it was asked for."""
        return all(process.outcome is Outcome.COMPLETE for process in self.processes)


Progress = Callable[[Sequence[ProcessListing]], None]
"""Is told now and then how far the processes are, without their ops."""


def list_ops(channel: Channel, rounds: int, seconds: float, progress: Progress | None = None) -> Listing:
    """Ask every live process for the ops of its next `rounds` rounds, and wait at most so many seconds.

    A round of a thread begins with the first layer-level op that begins on it after it was asked, and ends when one of
    those that it has listed would begin for the second time; `rounds` of them when one would begin once more often
    than that. Without live processes the listing is empty. Raises ChannelError if the channel is taken away meanwhile,
    OSError.
    """
    asked = channel.live_processes()
    if not asked:
        return Listing(())
    with ops_requested(channel, rounds) as request:
        watches = {process.pid: _Watch(process) for process in asked}
        until = time.monotonic() + seconds
        while True:
            # The processes first: what one has written before its end is then seen.
            # The slot of a dead one of the same pid counts for nothing beside that of a live one.
            slots = sorted(channel.processes(), key=lambda process: process.alive)
            processes = {process.pid: process for process in slots}
            answers = _answers(request, channel)
            for pid, watch in watches.items():
                watch.look(processes.get(pid), [answer for answer in answers if answer.pid == pid])
            if progress is not None:
                progress([watch.listing() for watch in watches.values()])
            if all(watch.is_through for watch in watches.values()) or time.monotonic() > until:
                return Listing(tuple(watches[pid].read() for pid in sorted(watches)))
            time.sleep(POLL_SECONDS)


def _answers(request: OpsRequest, channel: Channel) -> list[AnswerFile]:
    try:
        return request.answers()
    except FileNotFoundError:
        raise ChannelError(f"the channel {channel.folder} was taken away") from None


class _Watch:
    """One process that was asked, as it was then and as it is now."""

    def __init__(self, asked: Process) -> None:
        self._asked = asked
        self._now: Process | None = asked
        self._answers: list[AnswerFile] = []
        self._executed = 0
        self._threads = asked.threads
        self._all_finished_since: float | None = None

    def look(self, now: Process | None, answers: list[AnswerFile]) -> None:
        self._now = now if now is not None and now.alive else None
        if now is not None:
            self._executed = max(now.ops_seen - self._asked.ops_seen, 0)
            self._threads = now.threads
        self._answers = answers
        if not answers or not all(answer.is_finished for answer in answers):
            self._all_finished_since = None
        elif self._all_finished_since is None:
            self._all_finished_since = time.monotonic()

    @property
    def is_through(self) -> bool:
        """Whether nothing more is to be expected: of a process that goes on, when every thread that was seen to
        execute ops has answered, or has not begun to for a while after the others were finished."""
        if self._now is None:
            return True
        if self._all_finished_since is None:
            return False
        if len(self._answers) >= self._threads:
            return True
        return time.monotonic() - self._all_finished_since >= GRACE_SECONDS

    def listing(self, ops: tuple[ListedOp, ...] = (), outcome: Outcome | None = None) -> ProcessListing:
        """Return how far it is."""
        device = self._asked.device if self._now is None else self._now.device
        return ProcessListing(self._asked.pid, device, outcome or self._outcome(), self._executed, ops)

    def read(self) -> ProcessListing:
        """Return how far it is, with all ops."""
        ops: list[ListedOp] = []
        outcome = self._outcome()
        for file in self._answers:
            try:
                answer = file.read()
            except (AnswerError, OSError) as error:
                return ProcessListing(
                    self._asked.pid, self._asked.device, Outcome.DAMAGED, self._executed, problem=str(error)
                )
            ops += ops_of(self._asked.pid, answer.records)
            if answer.end is ListingEnd.TOO_LARGE:
                outcome = Outcome.TOO_LARGE
            elif answer.end is None and outcome is Outcome.COMPLETE:
                outcome = Outcome.UNFINISHED
        return self.listing(tuple(ops), outcome)

    def _outcome(self) -> Outcome:
        if self._all_finished_since is not None:
            return Outcome.COMPLETE
        if self._now is None:
            return Outcome.ENDED
        if self._answers:
            return Outcome.UNFINISHED
        return Outcome.SILENT if self._executed > 0 else Outcome.IDLE
