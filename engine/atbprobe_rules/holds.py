"""Who wants a watcher to stay: one empty file in the channel's folder for each shell that has loaded the probe.

A file's name is the shell's pid and start time, so that a hold ends with its shell, however that goes.
"""

from __future__ import annotations

import re
from pathlib import Path

from atbprobe_rules.channel import Channel
from atbprobe_rules.processes import ProcessName

_NAME = re.compile(r"hold-(\d+)-(\d+)")


def _path(folder: Path, holder: ProcessName) -> Path:
    return folder / f"hold-{holder.pid}-{holder.start_time}"


def hold(folder: Path, holder: ProcessName) -> None:
    """Make `holder` one of those that the watcher stays for."""
    _path(folder, holder).touch(mode=0o600)


def release(folder: Path, holder: ProcessName) -> None:
    """Take the hold of `holder` away, if it has one."""
    _path(folder, holder).unlink(missing_ok=True)


def holders(folder: Path) -> list[ProcessName]:
    """Return those that hold now; the files of the dead are removed on the way."""
    found = []
    for path in folder.glob("hold-*"):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        holder = ProcessName(int(match[1]), int(match[2]))
        if holder.alive:
            found.append(holder)
        else:
            path.unlink(missing_ok=True)
    return found


def is_needed(channel: Channel) -> bool:
    """Tell whether anybody holds the channel's watcher, or any running process is attached."""
    return bool(holders(channel.folder) or channel.live_processes())
