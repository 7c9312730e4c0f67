"""Hearing that the content behind a path may have changed: the file, a link on the way to it, or a folder that is gone.

What a path leads to depends on several names: the file's own, and that of every link that is followed. Each of them
is heard of through the folder that it stands in, since renames and link swaps happen there. Where the way ends because
a name is missing, that name's folder is watched until it comes. The way is walked anew after each change.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
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
from watchdog.observers.api import BaseObserver, ObservedWatch

MAX_LINKS = 40
"""As many as the kernel follows."""

# Opening and reading are left out: who looks at the file does both, and would wake itself for ever.
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]

_Identity = tuple[int, int]


def names_on_the_way(path: Path) -> set[Path]:
    """Return the names on which it depends what `path`, an absolute one, leads to."""
    names: set[Path] = set()
    here = Path("/")
    ahead = list(path.parts[1:])
    links = 0
    while ahead:
        here = here.parent if ahead[0] == ".." else here / ahead[0]
        del ahead[0]
        try:
            is_link = stat.S_ISLNK(here.lstat().st_mode)
        except OSError:
            return names | {here}
        if is_link:
            names.add(here)
            links += 1
            if links > MAX_LINKS:
                return names
            target = here.readlink()
            here, steps = (Path("/"), target.parts[1:]) if target.is_absolute() else (here.parent, target.parts)
            ahead = [*steps, *ahead]
    return names | {here}


class FileEvents(FileSystemEventHandler):
    """Calls `wake`, from a thread of its own, when the content behind `path` may have changed.

    `report` takes a line for a person where a folder cannot be watched; whoever uses this looks from time to time
    anyway. Nothing is watched before the first `follow`.
    """

    def __init__(self, path: Path, wake: Callable[[], None], report: Callable[[str], None]) -> None:
        self._path = path
        self._wake = wake
        self._report = report
        self._names: frozenset[str] = frozenset()
        self._watches: dict[Path, tuple[_Identity, ObservedWatch]] = {}
        self._has_complained = False
        self._observer: BaseObserver | None = None  # where there is none, nothing is heard

    def __enter__(self) -> FileEvents:
        try:
            observer = Observer()
            observer.start()
            self._observer = observer
        except OSError as error:
            self._complain(error)
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def follow(self) -> None:
        """Watch what the path leads through now."""
        if self._observer is None:
            return
        names = names_on_the_way(self._path)
        folders = {name.parent for name in names}
        self._names = frozenset(str(place) for place in names | folders)
        for folder in self._watches.keys() - folders:
            self._unwatch(self._observer, folder)
        for folder in folders:
            self._watch(self._observer, folder)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake whoever looks at the file, if the event is about one of the names."""
        if os.fsdecode(event.src_path) in self._names or os.fsdecode(event.dest_path) in self._names:
            self._wake()

    def _watch(self, observer: BaseObserver, folder: Path) -> None:
        try:
            status = folder.stat()
            identity = (status.st_dev, status.st_ino)
            if folder in self._watches:
                if self._watches[folder][0] == identity:
                    return
                self._unwatch(observer, folder)  # another folder by the same name
            self._watches[folder] = (identity, observer.schedule(self, str(folder), event_filter=_EVENTS))
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._has_complained:
            self._report(
                f"{self._path} cannot be listened to ({error.strerror}): it is looked at once a second instead"
            )
        self._has_complained = True

    def _unwatch(self, observer: BaseObserver, folder: Path) -> None:
        _, watch = self._watches.pop(folder)
        with contextlib.suppress(KeyError, OSError):  # it may have gone with its folder
            observer.unschedule(watch)
