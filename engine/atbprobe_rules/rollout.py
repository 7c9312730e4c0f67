"""How far an edit has come: from the file to the watcher, and from there to every process."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atbprobe_rules.attached_process import Process
from atbprobe_rules.channel import REJECTED_NOTE, Channel, Published
from atbprobe_rules.config_file import Reading, read_config_file

POLL_SECONDS = 0.005


class Stage(enum.Enum):
    """Where the content that the file has now is."""

    NOT_PUBLISHED = "not published"  # the watcher has not looked at it, or waits for the quiet time
    REJECTED = "rejected"
    NO_FILE = "no file"  # and there never was one
    PUBLISHED = "published"  # some processes have not taken it
    REFUSED = "refused"  # by a process that cannot use it; the others have taken it
    ADOPTED = "adopted"


@dataclass(frozen=True)
class Rollout:
    """One look. `watched`: there is a live watcher. `waiting` are the live processes that have not taken the published
    rules, `refusing` those that have looked at them and cannot, `ended` processes that left their counts behind."""

    stage: Stage
    watched: bool
    published: Published | None = None
    rejection: dict[str, Any] | None = None
    live: list[Process] = field(default_factory=list)
    waiting: list[Process] = field(default_factory=list)
    refusing: list[Process] = field(default_factory=list)
    ended: list[Process] = field(default_factory=list)

    @property
    def unfinished(self) -> list[Process]:
        """The live processes with an op that has begun and not ended, or with data that is not on disk yet."""
        return [process for process in self.live if process.ops_open > 0 or process.bytes_queued > 0]

    @property
    def losing(self) -> list[Process]:
        """The processes that have lost something under the rules they have now, those that have ended included.

        What an ended one still had queued is lost too, and so are the outputs of ops that it was in the middle of.
        """
        generation = None if self.published is None else self.published.generation
        return [process for process in self.live if process.lost] + [
            process
            for process in self.ended
            if process.generation == generation and (process.lost or _was_cut_off(process))
        ]

    @property
    def is_settled_in_watcher(self) -> bool:
        """Whether the watcher is done with the file as it is."""
        return self.stage is not Stage.NOT_PUBLISHED

    @property
    def is_final(self) -> bool:
        """Whether waiting longer changes nothing, as long as the file stays as it is."""
        if self.stage is Stage.NOT_PUBLISHED:
            return not self.watched
        return self.stage is not Stage.PUBLISHED


def look(channel: Channel, config: Path) -> Rollout:
    """Tell how far the present content of `config` has come."""
    reading = read_config_file(config)
    published = channel.published()
    watcher = channel.watcher()
    watched = watcher is not None and watcher.alive
    processes = channel.processes()
    live = [process for process in processes if process.alive]
    ended = [process for process in processes if not process.alive]
    rejection = _rejection_of(channel, reading)
    if reading.missing and published is None:
        return Rollout(Stage.NO_FILE, watched, live=live, ended=ended)
    if rejection is not None:
        return Rollout(Stage.REJECTED, watched, published, rejection, live, ended=ended)
    if published is None or bytes.fromhex(published.config_hash) != reading.content_hash:
        return Rollout(Stage.NOT_PUBLISHED, watched, published, live=live, ended=ended)

    behind = [process for process in live if process.generation != published.generation]
    refusing = [process for process in behind if process.generation_seen == published.generation]
    waiting = [process for process in behind if process not in refusing]
    stage = Stage.PUBLISHED if waiting else Stage.REFUSED if refusing else Stage.ADOPTED
    return Rollout(stage, watched, published, None, live, waiting, refusing, ended)


def wait_for(channel: Channel, config: Path, is_enough: Callable[[Rollout], bool], seconds: float) -> Rollout:
    """Look until `is_enough`, at most so many seconds; return the last look, enough or not."""
    until = time.monotonic() + seconds
    while not is_enough(rollout := look(channel, config)) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return rollout


def _was_cut_off(process: Process) -> bool:
    return process.bytes_queued > 0 or process.ops_open > 0


def _rejection_of(channel: Channel, reading: Reading) -> dict[str, Any] | None:
    note = channel.read_note(REJECTED_NOTE)
    if note is None or reading.missing:
        return None
    return note if note.get("content_hash") == reading.content_hash.hex() else None
