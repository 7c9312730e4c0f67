"""The watcher: one process for one config, which publishes the file's rules whenever the file changes.

A watchdog observer hears what happens in the file's folder (renames and link swaps happen there, not in the file), and
each time the file is looked at anew; so it is once a second too, since some edits make no event there. The watcher
stays for the shells that hold it (holds.py) and for the processes attached to its channel, and takes the channel with
it when there are neither.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from watchdog.events import (
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from atbprobe_rules import native
from atbprobe_rules.channel import Channel, ChannelError, channel_folder, runtime_lock
from atbprobe_rules.holds import holders
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.publisher import Publisher, Report, warm_up

LOOK_SECONDS = 1.0
WATCHER_NOTE = "watcher.json"
LOG_NAME = "watch.log"

# Opening and reading are left out: the watcher does both itself, and would wake itself for ever.
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]


class AlreadyWatchedError(Exception):
    """Another watcher has this config."""


class _Waker(FileSystemEventHandler):
    """Turns whatever happens in a watched folder into one signal."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._wake()


class Watcher:
    """Watches one config file. `config` is absolute, as in ``ATB_DUMP_CONFIG``; `report` takes lines for a person."""

    def __init__(self, config: Path, report: Report) -> None:
        self._config = config
        self._report = report
        self._folder = channel_folder(str(config))
        # A file to poll, since a signal handler may write to it and may not touch a lock.
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopped = False
        self._last_fault: str | None = None

    def wake(self) -> None:
        """Look at the file and at who holds the watcher, now. To be called from any thread or signal handler."""
        os.eventfd_write(self._bell, 1)

    def stop(self) -> None:
        """Make `run` return soon; as `wake`."""
        self._stopped = True
        self.wake()

    def run(self) -> None:
        """Watch until stopped or needed by nobody. Raises AlreadyWatchedError, ChannelError. Once for each Watcher."""
        try:
            with self._sole_watcher() as channel, self._observing():
                self._keep_published(channel)
        finally:
            os.close(self._bell)

    @contextlib.contextmanager
    def _sole_watcher(self) -> Iterator[Channel]:
        with runtime_lock(self._folder):
            channel = Channel.create(self._folder)
            lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                channel.close()
                raise AlreadyWatchedError(str(self._config)) from None
            log = str(self._folder / LOG_NAME)
            channel.write_note(WATCHER_NOTE, {"config": str(self._config), "log": log})
            self._give_sign_of_life()
        try:
            yield channel
        finally:
            with contextlib.suppress(FileNotFoundError):  # taken away already
                native.channel_heartbeat(str(self._folder), 0, 0)
                self._leave_if_unneeded(channel)
            os.close(lock)
            channel.close()

    @contextlib.contextmanager
    def _observing(self) -> Iterator[None]:
        observer = Observer()
        waker = _Waker(self.wake)
        for folder in _folders_to_watch(self._config):
            try:
                observer.schedule(waker, str(folder), event_filter=_EVENTS)
            except OSError as error:
                self._report(f"{folder}: {error.strerror}; the config is looked at once a second instead")
        observer.start()
        try:
            yield
        finally:
            observer.stop()
            observer.join()

    def _keep_published(self, channel: Channel) -> None:
        publisher = Publisher(channel, self._config, self._report)
        warm_up()
        while not self._stopped:
            again_at = self._look(publisher)
            self._give_sign_of_life()
            if self._leave_if_unneeded(channel):
                return
            self._wait_for_bell(_seconds_until(again_at))

    def _wait_for_bell(self, seconds: float) -> None:
        rung, _, _ = select.select([self._bell], [], [], seconds)
        if rung:
            os.eventfd_read(self._bell)

    def _look(self, publisher: Publisher) -> float | None:
        try:
            again_at = publisher.look(time.monotonic())
        except ChannelError as error:
            if str(error) != self._last_fault:
                self._report(str(error))
            self._last_fault = str(error)
            return None
        self._last_fault = None
        return again_at

    def _give_sign_of_life(self) -> None:
        this = ProcessName.of(os.getpid())
        assert this is not None, "this process runs"
        native.channel_heartbeat(str(self._folder), this.pid, this.start_time)

    def _leave_if_unneeded(self, channel: Channel) -> bool:
        """Take the channel away if nobody needs it, and tell whether that was so."""
        if self._is_needed(channel):
            return False
        # Whoever comes now waits for the lock, and is seen by the second look or finds no channel any more.
        with runtime_lock(self._folder):
            if self._is_needed(channel):
                return False
            native.channel_close(str(self._folder))
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                self._folder.parent.rmdir()
            return True

    def _is_needed(self, channel: Channel) -> bool:
        return bool(holders(self._folder) or channel.live_processes())


def _folders_to_watch(config: Path) -> list[Path]:
    """Return the folders in which a change of the file shows: its own, and that of the file behind a link."""
    folders = {config.parent, Path(os.path.realpath(config)).parent}
    return sorted(folder for folder in folders if folder.is_dir())


def _seconds_until(again_at: float | None) -> float:
    if again_at is None:
        return LOOK_SECONDS
    return min(LOOK_SECONDS, max(0.0, again_at - time.monotonic()))


def stop_on_signals(watcher: Watcher, before: Callable[[], None]) -> None:
    """Let SIGTERM and SIGINT end `watcher`, SIGUSR1 wake it, and the hangup of a terminal pass by it.

    `before` is called before the end.
    """

    def stop(_number: int, _frame: FrameType | None) -> Any:
        before()
        watcher.stop()

    def wake(_number: int, _frame: FrameType | None) -> Any:
        watcher.wake()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGUSR1, wake)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
