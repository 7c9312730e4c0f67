"""The log of a watcher: bounded, newest lines kept, one descriptor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from atbprobe_rules.bounded_log import BoundedLog, open_log

LIMIT = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "watch.log"


@pytest.fixture
def descriptor(path: Path) -> Iterator[int]:
    opened = open_log(path)
    yield opened
    os.close(opened)


def test_a_flood_leaves_the_newest_lines_whole(path: Path, descriptor: int) -> None:
    log = BoundedLog(descriptor, LIMIT)
    inode = path.stat().st_ino
    for number in range(5000):
        log.write(f"line {number}")
        assert path.stat().st_size <= LIMIT
    first, *lines = path.read_text().splitlines()
    assert first == "... older lines were left out"
    assert lines == [f"line {number}" for number in range(5000 - len(lines), 5000)]
    assert len(lines) > LIMIT // 4 // len("line 4999\n")
    assert path.stat().st_ino == inode, "who follows the file goes on seeing it"


def test_a_short_log_is_not_touched(path: Path, descriptor: int) -> None:
    log = BoundedLog(descriptor, LIMIT)
    log.write("one\ntwo")
    log.write("Ünicode \udcff")
    assert path.read_bytes() == "one\ntwo\nÜnicode \\udcff\n".encode()


def test_one_report_is_cut_before_it_pushes_all_others_out(path: Path, descriptor: int) -> None:
    log = BoundedLog(descriptor, LIMIT)
    log.write("before")
    log.write("x" * (10 * LIMIT))
    log.write("after")
    lines = path.read_text().splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("before", "... cut", "after")
    assert path.stat().st_size <= LIMIT


def test_what_others_write_to_it_counts(path: Path, descriptor: int) -> None:
    log = BoundedLog(descriptor, LIMIT)
    os.write(descriptor, b"a traceback\n" * LIMIT)
    log.write("after")
    assert path.stat().st_size <= LIMIT
    assert path.read_text().splitlines()[-2:] == ["a traceback", "after"]


def test_a_log_that_is_continued_keeps_what_is_there(path: Path) -> None:
    for word in ("one", "two"):
        descriptor = open_log(path)
        BoundedLog(descriptor).write(word)
        os.close(descriptor)
    assert path.read_text() == "one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_ends_nobody(path: Path) -> None:
    path.touch()
    reading = os.open(path, os.O_RDONLY)
    BoundedLog(reading).write("lost")
    os.close(reading)
    BoundedLog(reading).write("lost")
    assert path.read_bytes() == b""
