"""Hearing of a change. The kernel queues an event before the call that makes it returns: nothing is waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atbprobe_rules import file_events
from atbprobe_rules.file_events import MAX_LINKS, FileEvents, way_of
from atbprobe_rules.file_system import file_system_of, is_remote
from atbprobe_rules.polled_folders import PolledFolders

WAIT_SECONDS = 60


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "config.json"
    path.parent.mkdir()
    path.write_text("{}")
    return path


@pytest.fixture
def events(config: Path) -> Iterator[FileEvents]:
    with FileEvents(config, lambda: pytest.fail("nothing is polled"), pytest.fail) as found:
        found.follow()
        yield found


CHANGES: list[Callable[[Path], object]] = [
    lambda config: config.write_text("1"),
    lambda config: config.chmod(0o600),
    lambda config: config.unlink(),
    lambda config: config.rename(config.parent / "other"),
    lambda config: config.rename(config.parent.parent / "other"),
    lambda config: config.parent.rename(config.parent.parent / "other"),
    lambda config: os.truncate(config, 0),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_heard_of_when_it_is_made(
    config: Path, events: FileEvents, change: Callable[[Path], object]
) -> None:
    assert events.take() is False
    change(config)
    assert events.take() is True
    events.follow()
    assert events.take() is False, "following makes no news"


def test_reading_is_no_change(config: Path, events: FileEvents) -> None:
    config.read_text()
    list(config.parent.iterdir())
    assert events.take() is False


def test_the_neighbours_are_not_listened_to(config: Path, events: FileEvents) -> None:
    (config.parent / "other").write_text("1")
    (config.parent / "other").rename(config.parent / "another")
    (config.parent.parent / "elsewhere").mkdir()
    assert events.take() is False


def test_what_comes_between_a_walk_and_its_watch_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "later" / "config.json"
    walks = []

    def walk(path: Path) -> file_events.Way:
        way = way_of(path)
        walks.append(way)
        if len(walks) == 1:
            config.parent.mkdir()
        return way

    monkeypatch.setattr(file_events, "way_of", walk)
    with FileEvents(config, lambda: None, pytest.fail) as events:
        events.follow()
        events.take()
        config.write_text("{}")
        assert events.take() is True


def test_a_way_names_its_links_and_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "..data").symlink_to("v1")
    config = tmp_path / "config.json"
    config.symlink_to("..data/config.json")
    assert way_of(config).names == {config, tmp_path / "..data", tmp_path / "v1" / "config.json"}
    assert tmp_path.parent in way_of(config).folders
    assert way_of(tmp_path / "no" / "such" / "file").names == {tmp_path / "no"}
    config.unlink()
    config.symlink_to("config.json")
    assert way_of(config).names == {config}
    for number in range(MAX_LINKS + 2):
        (tmp_path / f"link{number}").symlink_to(f"link{number + 1}")
    assert len(way_of(tmp_path / "link0").names) == MAX_LINKS + 1


@pytest.mark.parametrize(
    ("name", "remote"),
    [
        *[(name, True) for name in ("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "ceph", "9p", "ocfs2", "afs")],
        *[(name, True) for name in ("fuse", "fuse.sshfs", "fuse.juicefs", "fuseblk", "virtiofs", "glusterfs")],
        *[(name, False) for name in ("ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "nfsd", "fusectl", "9pfs")],
    ],
)
def test_which_file_systems_can_change_behind_the_kernels_back(name: str, remote: bool) -> None:
    assert is_remote(name) is remote


def test_a_file_system_is_that_behind_links_and_mounts(tmp_path: Path) -> None:
    assert file_system_of(Path("/proc/self/status")) == "proc"
    link = tmp_path / "a blank"
    link.symlink_to("/proc/self/status")
    assert file_system_of(link) == "proc"
    with pytest.raises(FileNotFoundError):
        file_system_of(tmp_path / "no such file")
    (tmp_path / "mount").mkdir()
    (tmp_path / "file").touch()
    script = (
        'mount -t ramfs none "$1/mount" && touch "$1/mount/inner" && mount --bind "$1/mount/inner" "$1/file" && '
        'exec "$2" -c '
        "'import sys; from pathlib import Path; from atbprobe_rules.file_system import file_system_of as look;"
        'print(look(Path(sys.argv[1], "mount")), look(Path(sys.argv[1], "file")))\' "$1"'
    )
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace may be made here")
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    assert done.stdout == "ramfs ramfs\n", done.stderr


def test_on_a_remote_file_system_it_is_said_and_polled(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = file_system_of(config)
    monkeypatch.setattr(file_events, "is_remote", lambda name: name == here)
    woken = threading.Event()
    said: list[str] = []
    with FileEvents(config, woken.set, said.append) as events:
        for _ in range(3):
            events.follow()
        assert len(said) == 1
        assert f"on {here}, where edits of others make no event" in said[0]
        config.write_text("something longer")
        assert woken.wait(WAIT_SECONDS)


def test_polling_follows_a_folder_that_is_made_anew(tmp_path: Path) -> None:
    woken = threading.Event()
    folder = tmp_path / "folder"
    folder.mkdir()
    polled = PolledFolders(woken.set)
    for _ in range(2):
        folder.rename(tmp_path / f"old{len(list(tmp_path.iterdir()))}")
        folder.mkdir()
        polled.follow({folder}, {folder / "config.json"})
        woken.clear()
        (folder / "config.json").write_text("{}")
        assert woken.wait(WAIT_SECONDS)
    polled.follow(set(), set())
    polled.close()
