"""Starting the watcher of a config and joining one that runs, and letting go of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from atbprobe_rules.bounded_log import open_log
from atbprobe_rules.channel import (
    LOG_NAME,
    Channel,
    ChannelError,
    channel_folder,
    existing_channels,
    remove_channel,
    runtime_folder,
    runtime_lock,
)
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.holds import hold, holders, is_needed, release
from atbprobe_rules.leftovers import clean_between_channels
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.rollout import POLL_SECONDS, Rollout, wait_for

START_SECONDS = 3.0
STOP_SECONDS = 5.0
_LOG_LINES_SHOWN = 20


def start_or_join(config: Path, holding: Sequence[int]) -> Rollout:
    """Make sure that `config` is watched for the processes `holding` (pids).

    Waits until its watcher has dealt with the file, at most START_SECONDS, and returns how far the file has come by
    then. Raises AtbprobeError with the end of its log if the watcher dies.
    """
    holders_wanted = [_named(pid) for pid in holding]
    folder = channel_folder(str(config))
    with runtime_lock(folder):
        _remove_unneeded()
        channel = Channel.create(folder)
        for holder in holders_wanted:
            hold(folder, holder)
        child = None if _is_watched(folder) else _spawn(config, folder / LOG_NAME)

    def is_enough(rollout: Rollout) -> bool:
        if child is not None and child.poll():
            raise AtbprobeError(f"the watcher ended at once:\n{_end_of(folder / LOG_NAME)}")
        # What the channel of an earlier watcher says counts only once there is one again.
        return rollout.is_settled_in_watcher and rollout.watched

    with channel:
        rollout = wait_for(channel, config, is_enough, START_SECONDS)
    # On a busy machine one that is there may not have got as far as to say so.
    return rollout if rollout.watched else replace(rollout, watched=_is_coming(folder, child))


def revive(config: Path) -> ProcessName | None:
    """Start the watcher of `config` again if it has died while it was needed; return the dead one if that was so.

    Whoever held the dead one holds the new one. One that was stopped, or was never there, is none that died. As
    `start_or_join` otherwise.
    """
    watcher = dead_watcher(config)
    if watcher is not None:
        start_or_join(config, ())
    return watcher


def dead_watcher(config: Path) -> ProcessName | None:
    """Return the watcher of `config` if it has died while somebody needed it; None if all is well."""
    try:
        with Channel.attach(channel_folder(str(config))) as channel:
            watcher = channel.watcher()
            died = watcher is not None and not watcher.alive and is_needed(channel)
    except FileNotFoundError:
        return None
    return watcher if died else None


def let_go(config: Path, released: Sequence[int]) -> ProcessName | None:
    """Take the holds of the processes `released` (pids) away; return the watcher if it stays all the same."""
    folder = channel_folder(str(config))
    watcher = watcher_of(folder)
    for pid in released:
        holder = ProcessName.of(pid)
        if holder is not None:
            release(folder, holder)
    if watcher is None:
        if folder.parent.exists():
            with runtime_lock(folder):
                _remove_unneeded()
        return None
    if _has_work(folder):
        return watcher
    _signal(watcher, signal.SIGUSR1)
    _wait_for_end(watcher)
    return watcher if watcher.alive else None


def stop(folder: Path) -> ProcessName | None:
    """End the watcher of the channel in `folder` whoever holds it; return it, None if there was none.

    Raises AtbprobeError if it does not end.
    """
    watcher = watcher_of(folder)
    for holder in holders(folder):
        release(folder, holder)
    if watcher is not None:
        _signal(watcher, signal.SIGTERM)
        _wait_for_end(watcher)
        if watcher.alive:
            raise AtbprobeError(f"the watcher, process {watcher.pid}, does not end")
    with runtime_lock(folder):
        _remove_unneeded()
    return watcher


def watcher_of(folder: Path) -> ProcessName | None:
    """Return the live watcher of the channel in `folder`."""
    try:
        with Channel.attach(folder) as channel:
            watcher = channel.watcher()
    except FileNotFoundError:
        return None
    return watcher if watcher is not None and watcher.alive else None


def _named(pid: int) -> ProcessName:
    holder = ProcessName.of(pid)
    if holder is None:
        raise AtbprobeError(f"there is no process {pid} that could hold the watcher")
    return holder


def _remove_unneeded() -> None:
    """Take away the channels that a killed watcher or its last process has left; under the runtime lock."""
    clean_between_channels(runtime_folder())
    for folder in existing_channels():
        if _is_watched(folder):
            continue
        with contextlib.suppress(ChannelError):  # not ours to judge
            if not _has_work(folder):
                remove_channel(folder)


def _has_work(folder: Path) -> bool:
    try:
        with Channel.attach(folder) as channel:
            return is_needed(channel)
    except FileNotFoundError:
        return False


def _is_coming(folder: Path, child: subprocess.Popen[bytes] | None) -> bool:
    if child is not None and child.poll() is None:
        return True
    with runtime_lock(folder), contextlib.suppress(FileNotFoundError):
        return _is_watched(folder)
    return False


def _is_watched(folder: Path) -> bool:
    """Tell whether a watcher holds its lock; to be called under the runtime lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _spawn(config: Path, log: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    descriptor = open_log(log)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "atbprobe_rules", "watch", "--config", str(config), "--attended"],
            cwd="/",
            env=environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
        )
    finally:
        os.close(descriptor)


def _end_of(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "(it left no log)"
    return "\n".join(lines[-_LOG_LINES_SHOWN:])


def _signal(process: ProcessName, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        if process.alive:
            os.kill(process.pid, number)


def _wait_for_end(process: ProcessName) -> None:
    until = time.monotonic() + STOP_SECONDS
    while process.alive and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
