"""The watcher: one process for one config, which publishes the file's rules whenever the file changes.

The file is looked at anew whenever something is heard of it (file_events.py), and once a second too, since some edits
make no event. The watcher stays for the shells that hold it (holds.py) and for the processes attached to its channel,
and takes the channel with it when there are neither.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from atbprobe_rules import native
from atbprobe_rules.channel import (
    LOG_NAME,
    WATCHER_NOTE,
    Channel,
    ChannelError,
    channel_folder,
    is_still,
    remove_channel,
    runtime_lock,
)
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.file_events import FileEvents
from atbprobe_rules.holds import hold, is_needed, release
from atbprobe_rules.leftovers import clean_channel
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.publisher import Publisher, Report, warm_up

LOOK_SECONDS = 1.0


class AlreadyWatchedError(AtbprobeError):
    """Another watcher has this config."""


class Watcher:
    """Watches one config file and publishes its rules, in a thread of its own or in the caller's.

        with atbprobe_rules.Watcher("/path/to/config.json"):
            ...                       # every edit of the file is in force at once

    `config` is the path as processes have it in ``ATB_DUMP_CONFIG``, made absolute here with links left as they are;
    `report` takes lines for a person (default: the logger ``atbprobe_rules``, as info). With `holds_itself` the watcher
    stays until it is stopped, whether anybody else needs it or not.
    """

    def __init__(
        self, config: str | os.PathLike[str], report: Report | None = None, *, holds_itself: bool = True
    ) -> None:
        self._config = Path.cwd() / config
        self._report = report or logging.getLogger("atbprobe_rules").info
        self._holds_itself = holds_itself
        self._folder = channel_folder(str(self._config))
        self._name = ProcessName.of_this()
        # A file to poll, since a signal handler may write to it and may not touch a lock.
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopped = False
        self._last_fault: str | None = None
        self._thread: threading.Thread | None = None
        self._settled = threading.Event()
        self._failure: BaseException | None = None

    def __enter__(self) -> Watcher:
        """Start watching, and return when the file as it is was published, refused, or found missing.

        Raises AlreadyWatchedError if another watcher has this config, ChannelError if there can be no channel.
        """
        self._thread = threading.Thread(target=self._run_in_thread, name="atbprobe-watcher", daemon=True)
        self._thread.start()
        self._settled.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; what is in force in running processes stays in force."""
        self.stop()
        assert self._thread is not None
        self._thread.join()

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except Exception as error:
            self._failure = error
        finally:
            self._settled.set()

    def wake(self) -> None:
        """Look at the file and at who holds the watcher, now. To be called from any thread or signal handler."""
        with contextlib.suppress(OSError):  # `run` is over
            os.eventfd_write(self._bell, 1)

    def stop(self) -> None:
        """Make `run` return soon; as `wake`."""
        self._stopped = True
        self.wake()

    @property
    def was_stopped(self) -> bool:
        """Whether `stop` was called, as against nobody needing the watcher any more."""
        return self._stopped

    def run(self) -> None:
        """Watch until stopped or needed by nobody. Raises AlreadyWatchedError, ChannelError. Once for each Watcher."""
        try:
            with self._sole_watcher() as channel, FileEvents(self._config, self.wake, self._report) as events:
                self._keep_published(channel, events)
        finally:
            bell, self._bell = self._bell, -1  # a late signal must not write to a number that is used anew
            os.close(bell)

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
            log = self._folder / LOG_NAME  # whoever starts a watcher in the background makes it
            note = {"config": str(self._config), "log": str(log) if log.exists() else None}
            channel.write_note(WATCHER_NOTE, note)
            clean_channel(channel)
            self._give_sign_of_life()
            if self._holds_itself:
                hold(self._folder, self._name)
        try:
            yield channel
        finally:
            release(self._folder, self._name)
            if is_still(self._folder, lock):  # not taken away, nor made anew by others after that
                native.channel_heartbeat(str(self._folder), 0, 0)
                self._leave_if_unneeded(channel)
            os.close(lock)
            channel.close()

    def _keep_published(self, channel: Channel, events: FileEvents) -> None:
        publisher = Publisher(channel, self._config, self._report)
        warm_up()
        while not self._stopped:
            if not self._folder.exists():
                self._report(f"{self._folder} was removed: nothing can be published any more")
                return
            events.follow()  # before the look, so that no change falls between the two
            again_at = self._look(publisher)
            self._give_sign_of_life()
            if again_at is None:
                self._settled.set()
            if self._leave_if_unneeded(channel):
                return
            self._wait_until(events, _next_look(again_at))

    def _wait_until(self, events: FileEvents, moment: float) -> None:
        """Wait for the bell or for news of the file, until `moment` on the monotonic clock."""
        heard = False
        while not heard and (seconds := moment - time.monotonic()) > 0:
            ready, _, _ = select.select([self._bell, *events.descriptors], [], [], seconds)
            if self._bell in ready:
                os.eventfd_read(self._bell)
                heard = True
            # Other files in the file's folder are news too, and no reason to look.
            heard = events.take() or heard

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
        native.channel_heartbeat(str(self._folder), self._name.pid, self._name.start_time)

    def _leave_if_unneeded(self, channel: Channel) -> bool:
        """Take the channel away if nobody needs it, and tell whether that was so."""
        if is_needed(channel):
            return False
        # Whoever comes now waits for the lock, and is seen by the second look or finds no channel any more.
        with contextlib.suppress(ChannelError), runtime_lock(self._folder):  # locked for long: the next time, then
            if is_needed(channel):
                return False
            remove_channel(self._folder)
            return True
        return False


def _next_look(again_at: float | None) -> float:
    regular = time.monotonic() + LOOK_SECONDS
    return regular if again_at is None else min(regular, again_at)


def serve_signals(watcher: Watcher, *, survive_hangup: bool) -> None:
    """Let SIGTERM and SIGINT end `watcher` and SIGUSR1 wake it; the hangup of a terminal ends it or passes by it."""

    def stop(_number: int, _frame: FrameType | None) -> Any:
        watcher.stop()

    def wake(_number: int, _frame: FrameType | None) -> Any:
        watcher.wake()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGUSR1, wake)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if survive_hangup else stop)
