"""Folders that are looked at again and again, where nothing tells of a change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import FileSystemEvent, FileSystemEventHandler

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

POLL_SECONDS = 0.5
_END_SECONDS = 2.0

_Identity = tuple[int, int]


class PolledFolders(FileSystemEventHandler):
    """Calls `wake`, from a thread of its own, when a name in a folder has changed. Nothing runs without folders."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._names: frozenset[str] = frozenset()
        self._watches: dict[Path, tuple[_Identity, ObservedWatch]] = {}
        self._observer: BaseObserver | None = None

    def follow(self, folders: set[Path], names: set[Path]) -> None:
        """Poll `folders`, for what happens to `names`, and nothing else any more; raises OSError."""
        self._names = frozenset(map(str, names | folders))
        identities = {folder: _identity_of(folder) for folder in folders if folder.exists()}
        for folder, (identity, watch) in list(self._watches.items()):
            if identities.get(folder) != identity:  # not wanted, or another folder by the same name
                del self._watches[folder]
                self._running().unschedule(watch)
        for folder in identities.keys() - self._watches.keys():
            self._watches[folder] = (identities[folder], self._running().schedule(self, str(folder)))

    def close(self) -> None:
        """End the thread."""
        if self._observer is not None:
            self._observer.stop()
            # One that hangs on a dead file server is not waited for; the process ends without it.
            self._observer.join(_END_SECONDS)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake whoever looks at the file, if the event is about one of the names."""
        if os.fsdecode(event.src_path) in self._names or os.fsdecode(event.dest_path) in self._names:
            self._wake()

    def _running(self) -> BaseObserver:
        if self._observer is None:
            from watchdog.observers.polling import PollingObserver

            observer = PollingObserver(timeout=POLL_SECONDS)
            observer.start()
            self._observer = observer
        return self._observer


def _identity_of(folder: Path) -> _Identity:
    status = folder.stat()
    return status.st_dev, status.st_ino
