"""The publisher against a real channel, on a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atbprobe_rules.channel import REJECTED_NOTE, Channel, channel_folder
from atbprobe_rules.config_file import NO_FILE_HASH
from atbprobe_rules.publisher import QUIET_SECONDS, Publisher

GOOD = json.dumps({"dump_enable": True})
OTHER = json.dumps({"dump_enable": True, "ids": "2"})
BAD = '{"dump_enable": tru'


class Watched:
    """A config file, its channel, and what was reported of it."""

    def __init__(self, config: Path, channel: Channel) -> None:
        self.config = config
        self.channel = channel
        self.reports: list[str] = []
        self.publisher = Publisher(channel, config, self.reports.append)

    def write(self, text: str) -> None:
        self.config.write_text(text, encoding="utf-8")
        self.config.chmod(0o600)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    config = tmp_path / "config.json"
    with Channel.create(channel_folder(str(config))) as channel:
        yield Watched(config, channel)


def test_a_valid_file_is_published_at_once_and_only_once(watched: Watched) -> None:
    watched.write(GOOD)
    assert watched.publisher.look(0.0) is None
    assert watched.publisher.look(1.0) is None
    assert watched.channel.generation == 1
    watched.write(GOOD + "\n")
    watched.publisher.look(2.0)
    assert watched.channel.generation == 2, "other bytes are another content, whatever they mean"


def test_an_invalid_file_counts_after_the_quiet_time(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.reports.clear()
    watched.write(BAD)
    assert watched.publisher.look(10.0) == 10.0 + QUIET_SECONDS
    assert watched.publisher.look(10.1) == 10.0 + QUIET_SECONDS
    assert (watched.reports, watched.channel.read_note(REJECTED_NOTE)) == ([], None)
    assert watched.publisher.look(10.0 + QUIET_SECONDS) is None
    assert watched.publisher.look(11.0) is None
    [report] = watched.reports
    assert "1:17: error" in report
    assert watched.channel.read_note(REJECTED_NOTE) is not None
    assert watched.channel.generation == 1


def test_the_quiet_time_starts_anew_with_other_content(watched: Watched) -> None:
    watched.write(BAD)
    watched.publisher.look(0.0)
    watched.write(BAD + "e")
    assert watched.publisher.look(0.2) == 0.2 + QUIET_SECONDS
    assert watched.publisher.look(QUIET_SECONDS) == 0.2 + QUIET_SECONDS
    assert watched.reports == []


def test_a_save_that_is_seen_halfway_is_one_swap_without_a_word(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.reports.clear()
    for moment, text in ((1.0, ""), (1.05, OTHER[:9]), (1.1, OTHER)):
        watched.write(text)
        watched.publisher.look(moment)
    assert watched.channel.generation == 2
    assert len(watched.reports) == 1
    assert "generation 2" in watched.reports[0]


def test_back_to_the_content_in_force_needs_no_generation(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.write(BAD)
    watched.publisher.look(1.0)
    watched.publisher.look(2.0)
    watched.write(GOOD)
    watched.publisher.look(3.0)
    assert watched.channel.generation == 1
    assert watched.channel.read_note(REJECTED_NOTE) is None


def test_a_file_that_comes_back_within_the_quiet_time_was_never_gone(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.config.unlink()
    assert watched.publisher.look(1.0) == 1.0 + QUIET_SECONDS
    watched.write(GOOD)
    assert watched.publisher.look(1.2) is None
    assert watched.channel.generation == 1


def test_a_deleted_file_turns_dumping_off_after_the_quiet_time(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.config.unlink()
    watched.publisher.look(1.0)
    watched.publisher.look(2.0)
    published = watched.channel.published()
    assert published is not None
    assert (published.generation, bytes.fromhex(published.config_hash)) == (2, NO_FILE_HASH)
    assert "dumping is off" in watched.reports[-1]


def test_a_file_that_was_never_there_is_not_a_deleted_one(watched: Watched) -> None:
    watched.publisher.look(0.0)
    watched.publisher.look(1.0)
    assert watched.channel.generation == 0
    assert "no such file yet" in watched.reports[0]
    watched.write(GOOD)
    watched.publisher.look(2.0)
    assert watched.channel.generation == 1


def as_folder(path: Path) -> None:
    path.mkdir()


def as_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def as_file_for_others(path: Path) -> None:
    path.write_text(GOOD)
    path.chmod(0o622)


def as_too_large(path: Path) -> None:
    path.write_bytes(b" " * (1024 * 1024 + 1))
    path.chmod(0o600)


@pytest.mark.parametrize("make", [as_folder, as_file_for_others, as_too_large])
def test_what_is_no_config_is_refused_once_and_changes_nothing(watched: Watched, make: Callable[[Path], None]) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.reports.clear()
    watched.config.unlink()
    make(watched.config)
    for moment in (1.0, 2.0, 3.0):
        watched.publisher.look(moment)
    assert len(watched.reports) == 1
    assert str(watched.config) in watched.reports[0]
    assert watched.channel.generation == 1


def test_a_dangling_link_is_a_missing_file(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    watched.config.unlink()
    as_dangling_link(watched.config)
    watched.publisher.look(1.0)
    watched.publisher.look(2.0)
    assert "dumping is off" in watched.reports[-1]


def test_a_new_publisher_goes_on_where_the_last_one_stopped(watched: Watched) -> None:
    watched.write(GOOD)
    watched.publisher.look(0.0)
    Publisher(watched.channel, watched.config, watched.reports.append).look(0.0)
    assert watched.channel.generation == 1
    watched.write(OTHER)
    Publisher(watched.channel, watched.config, watched.reports.append).look(0.0)
    assert watched.channel.generation == 2
