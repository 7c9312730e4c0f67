"""What somebody who was killed halfway has left among the channels, and taking it away.

Every file is made under a name of its own and then renamed, and every channel is renamed before it is taken apart. So
whatever still bears such a name belongs to the dead, once nobody else can be at work: in a channel that is the case for
its watcher, and between channels for whoever has the runtime lock. A request to list ops names its asker, and goes with
the next watcher or asker.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from pathlib import Path

from atbprobe_rules.channel import GONE_MARK, Channel, close_and_remove
from atbprobe_rules.processes import start_time_of

_IMAGE = re.compile(r"image-(\d+)")
_NOTE_BEING_WRITTEN = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
_REQUEST = re.compile(r"ops-(\d+)-(\d+)-\d+-\d+(?:\.gone)?")
_BEING_MADE = re.compile(r"\.new-(\d+)-\d+")

_EMPTY_SECONDS = 60.0
"""A channel's folder that was just made is empty, and one that stays so is nobody's."""


def clean_channel(channel: Channel) -> None:
    """Take away what a killed watcher has left in `channel`; to be called by its sole watcher."""
    generation = channel.generation
    for path in channel.folder.iterdir():
        image = _IMAGE.fullmatch(path.name)
        superseded = image is not None and int(image[1]) != generation
        if superseded or _NOTE_BEING_WRITTEN.fullmatch(path.name) or _maker_is_dead(path):
            path.unlink(missing_ok=True)
    remove_dead_requests(channel.folder)


def remove_dead_requests(folder: Path) -> None:
    """Take away requests to list ops whose askers are dead; `folder` is a channel's."""
    for path in folder.glob("ops-*"):
        request = _REQUEST.fullmatch(path.name)
        if request is not None and start_time_of(int(request[1])) != int(request[2]):
            shutil.rmtree(path, ignore_errors=True)


def clean_between_channels(runtime: Path) -> None:
    """Take away channels that were being made or removed; to be called under the runtime lock."""
    with contextlib.suppress(OSError):
        for folder in runtime.iterdir():
            if GONE_MARK in folder.name:
                close_and_remove(folder)
            elif not (folder / "control").exists() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    files = list(folder.iterdir())
    if files:
        return all(map(_maker_is_dead, files))
    return time.time() - folder.stat().st_mtime > _EMPTY_SECONDS


def _maker_is_dead(path: Path) -> bool:
    maker = _BEING_MADE.fullmatch(path.name)
    return maker is not None and start_time_of(int(maker[1])) == 0
