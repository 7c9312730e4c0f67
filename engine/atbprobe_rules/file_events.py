"""Hearing that the content behind a path may have changed: the file, a link on the way to it, or a folder that is gone.

What a path leads to depends on several names: the file's own, and that of every link that is followed. Each of them
is heard of through the folder that it stands in, since renames and link swaps happen there. Where the way ends because
a name is missing, that name's folder is watched until it comes. The folders above are watched for being moved away.

Writing is heard of through the file's own inode: a file that is mounted into a container on its own is written to by
another path, of which its folder here knows nothing. The way is walked anew after each change.

Where inotify hears not everything or cannot be had, watchdog's polling observer looks at the folders.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atbprobe_rules import inotify
from atbprobe_rules.file_system import file_system_of, is_remote
from atbprobe_rules.inotify import Inotify, InotifyEvent
from atbprobe_rules.polled_folders import POLL_SECONDS, PolledFolders

MAX_LINKS = 40
"""As many as the kernel follows."""

# Never opening and reading: who looks at the file does both, and would wake itself for ever.
_GONE = inotify.DELETE_SELF | inotify.MOVE_SELF
_NAMES = inotify.CREATE | inotify.MOVED_FROM | inotify.MOVED_TO | inotify.DELETE | inotify.ATTRIB | _GONE
_CONTENT = inotify.MODIFY | inotify.CLOSE_WRITE | inotify.ATTRIB | _GONE

_MOST_WALKS = 4


@dataclass
class Way:
    """What a path leads through: `names` on which it depends where that is, and all `folders` that were crossed."""

    names: set[Path] = field(default_factory=set)
    folders: set[Path] = field(default_factory=set)

    @property
    def folders_of_names(self) -> set[Path]:
        """The folders in which a name can come or go that matters."""
        return {name.parent for name in self.names}


def way_of(path: Path) -> Way:
    """Walk to what `path`, an absolute one, leads to now, as far as there is something."""
    way = Way()
    here = Path("/")
    ahead = list(path.parts[1:])
    links = 0
    while ahead:
        way.folders.add(here)
        here = here.parent if ahead[0] == ".." else here / ahead[0]
        del ahead[0]
        try:
            is_link = stat.S_ISLNK(here.lstat().st_mode)
            target = here.readlink() if is_link else Path()
        except OSError:
            break
        if is_link:
            way.names.add(here)
            links += 1
            if links > MAX_LINKS:
                return way
            here, steps = (Path("/"), target.parts[1:]) if target.is_absolute() else (here.parent, target.parts)
            ahead = [*steps, *ahead]
    way.names.add(here)
    return way


class FileEvents:
    """Tells when the content behind `path` may have changed: through `descriptors`, to be polled, or by `wake`.

    `wake` is called from a thread of its own. `report` takes a line for a person where the kernel does not hear
    everything; whoever uses this looks from time to time anyway. Nothing is watched before the first `follow`.
    """

    def __init__(self, path: Path, wake: Callable[[], None], report: Callable[[str], None]) -> None:
        self._path = path
        self._report = report
        self._polled = PolledFolders(wake)
        self._inotify: Inotify | None = None
        self._lack: OSError | None = None  # of inotify, if there is one
        # Watch → the names in its folder that matter; None: whatever happens to the inode itself does.
        self._watches: dict[int, set[str] | None] = {}
        self._file_systems: dict[int, str | None] = {}
        self._has_told: set[str] = set()

    def __enter__(self) -> FileEvents:
        try:
            self._inotify = Inotify()
        except OSError as error:
            self._lack = error
        return self

    def __exit__(self, *_: object) -> None:
        self._polled.close()
        if self._inotify is not None:
            self._inotify.close()

    @property
    def descriptors(self) -> list[int]:
        """What becomes readable when there is something for `take`."""
        return [] if self._inotify is None else [self._inotify.fileno()]

    def take(self) -> bool:
        """Take what the kernel has told since; true if it matters."""
        if self._inotify is None:
            return False
        heard = list(self._inotify.read())
        return any(self._matters(event) for event in heard)

    def follow(self) -> None:
        """Watch what the path leads through now."""
        if self._inotify is not None:
            self._lack = None
        way = way_of(self._path)
        for _ in range(_MOST_WALKS):
            self._watch(way)
            # What came after the walk and before its watch has made no event.
            before, way = way, way_of(self._path)
            if way == before:
                break
        self._poll(way)

    def _matters(self, event: InotifyEvent) -> bool:
        if event.mask & inotify.OVERFLOW:
            return True
        if event.watch not in self._watches:  # one that was ended meanwhile
            return False
        names = self._watches[event.watch]
        return names is None or not event.name or event.name in names

    def _watch(self, way: Way) -> None:
        if self._inotify is None:
            return
        watches: dict[int, set[str] | None] = {}
        for folder in way.folders - way.folders_of_names:
            # That of others may be closed to us. Nothing is lost but the quick news of its being moved.
            with contextlib.suppress(OSError):
                watches.setdefault(self._inotify.add(folder, _GONE), set())
        for name in way.names:
            try:
                names = watches.setdefault(self._inotify.add(name.parent, _NAMES), set())
                if names is not None:
                    names.add(name.name)
            except FileNotFoundError:  # gone since; the next walk sees it
                continue
            except OSError as error:
                self._lack = error
        try:
            watches[self._inotify.add(self._path, _CONTENT)] = None
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass  # one that may not be read cannot be watched either; its folder tells when that changes
        except OSError as error:
            self._lack = error
        for watch in self._watches.keys() - watches.keys():
            self._inotify.remove(watch)
        self._watches = watches

    def _poll(self, way: Way) -> None:
        folders = way.folders_of_names
        remote = next(filter(None, map(self._remote_file_system, [self._path, *sorted(folders)])), None)
        if self._lack is None and remote is None:
            self._polled.follow(set(), way.names)
            return
        reason = f"on {remote}, where edits of others make no event" if self._lack is None else str(self._lack.strerror)
        try:
            self._polled.follow(folders, way.names)
            self._tell(f"{self._path}: {reason}: polled every {POLL_SECONDS:g} s")
        except OSError as error:
            self._tell(f"{self._path}: {reason}; nor can it be polled ({error.strerror}): looked at once a second")

    def _remote_file_system(self, path: Path) -> str | None:
        """Return the name of the file system if the kernel does not hear of every change there."""
        try:
            device = path.stat().st_dev
            if device not in self._file_systems:
                self._file_systems[device] = file_system_of(path)
        except OSError:
            return None
        name = self._file_systems[device]
        return name if name is not None and is_remote(name) else None

    def _tell(self, line: str) -> None:
        if line not in self._has_told:
            self._has_told.add(line)
            self._report(line)
