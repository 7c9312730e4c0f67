"""The watcher as an object in somebody's Python program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from probed_host import Probed
from watching import CHILDREN, LAYERS, nothing_in, settle, status, wait

import atbprobe_rules
from atbprobe_rules import AlreadyWatchedError, Watcher
from atbprobe_rules.channel import ChannelError
from atbprobe_rules.rollout import Stage


def test_rules_are_in_force_inside_of_the_block(probed: Probed, runtime_dir: Path) -> None:
    said: list[str] = []
    probed.write(LAYERS)
    with Watcher(probed.config, said.append), probed.model() as model:
        assert settle(probed) is Stage.ADOPTED, "the file as it was is published on entry"
        assert status(probed)["watcher"] == {"pid": os.getpid(), "alive": True, "log": None}, "it writes no log"
        model.step()
        probed.write(CHILDREN)
        assert settle(probed) is Stage.PUBLISHED
        model.step()
        assert "in 1 process" in wait(probed).stdout
    assert [line for line in said if "in force as generation" in line] == [
        f"{probed.config}: in force as generation 1",
        f"{probed.config}: in force as generation 2",
    ]
    assert probed.files()
    with Watcher(str(probed.config)):
        pass
    assert nothing_in(runtime_dir)


def test_a_config_that_is_refused_is_reported_before_the_block_begins(probed: Probed) -> None:
    said: list[str] = []
    probed.config.write_text('{"task": "stats"}')
    probed.config.chmod(0o600)
    with Watcher(probed.config, said.append):
        assert any("bad-task" in line for line in said)
        assert settle(probed) is Stage.REJECTED


def test_a_path_is_taken_from_where_the_program_stands(probed: Probed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(probed.folder)
    with Watcher("config.json"):
        assert status(probed)["config"] == str(probed.config)


def test_one_config_has_one_watcher(watched: Probed) -> None:
    with pytest.raises(AlreadyWatchedError), Watcher(watched.config):
        pytest.fail("it is watched already")
    assert status(watched)["watcher"]["alive"] is True


def test_without_a_channel_there_is_no_block(probed: Probed, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way = probed.folder / "runtime"
    in_the_way.write_text("")
    monkeypatch.setenv("ATBPROBE_RUNTIME_DIR", str(in_the_way))
    with pytest.raises((ChannelError, OSError)), Watcher(probed.config):
        pytest.fail("there can be no channel")


def test_it_is_public() -> None:
    assert {"Watcher", "AlreadyWatchedError"} <= set(atbprobe_rules.__all__)
