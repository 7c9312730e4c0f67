"""What the killed leave among the channels goes with the next watcher and the next command, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from probed_host import Probed, command
from watching import LAYERS, settle, start_watcher, status

from atbprobe_rules import channel
from atbprobe_rules.channel import Channel, ChannelError, channel_folder, existing_channels, runtime_lock
from atbprobe_rules.holds import hold
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.rollout import Stage


@pytest.fixture
def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    return child.pid


def test_a_new_watcher_cleans_its_channel(probed: Probed, dead_pid: int) -> None:
    generation = probed.publish(LAYERS)
    folder = channel_folder(str(probed.config))
    hold(folder, ProcessName.of_this())
    others = [f"image-{generation + 1}", "image-0", ".rejected.json.0123abcd.tmp", f".new-{dead_pid}-1000000001"]
    kept = [f".new-{os.getpid()}-1000000001", "anything else"]
    for name in others + kept:
        (folder / name).touch()
    start_watcher(probed.config)
    assert settle(probed) is Stage.ADOPTED
    assert status(probed)["generation"] == generation
    left = {path.name for path in folder.iterdir()}
    assert left.isdisjoint(others)
    assert left.issuperset([*kept, f"image-{generation}", "control"])
    command("stop", "--config", str(probed.config))
    assert not folder.exists()


def test_the_next_command_removes_what_was_being_made_or_removed(
    probed: Probed, runtime_dir: Path, dead_pid: int
) -> None:
    other = probed.folder / "other.json"
    folder = channel_folder(str(other))
    with Channel.create(folder):
        pass
    half_removed = folder.rename(folder.with_name(f"{folder.name}.gone-{dead_pid}"))
    half_made = folder.with_name("half-made")
    half_made.mkdir()
    (half_made / f".new-{dead_pid}-1000000001").touch()
    just_made = folder.with_name("just-made")
    just_made.mkdir()
    assert existing_channels() == [], "one that is being removed is no channel any more"
    command("stop", "--config", str(probed.config))
    assert not half_removed.exists()
    assert not half_made.exists()
    assert just_made.exists(), "somebody may be about to fill it"
    just_made.rmdir()
    command("stop", "--config", str(probed.config))
    assert not runtime_dir.exists()


def test_a_command_that_is_stopped_under_the_lock_stops_no_other(
    probed: Probed, runtime_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "LOCK_SECONDS", 0.1)
    folder = channel_folder(str(probed.config))
    with (
        runtime_lock(folder),
        pytest.raises(ChannelError, match=r"locked by another command for 0\.1 s"),
        runtime_lock(folder),
    ):
        pytest.fail("one has it")
    with runtime_lock(folder):
        assert runtime_dir.exists()


def test_letting_go_of_a_dead_watcher_takes_its_channel_away(probed: Probed, runtime_dir: Path) -> None:
    start_watcher(probed.config)
    os.kill(status(probed)["watcher"]["pid"], 9)
    done = command("watch", "--release", str(os.getpid()), "--config", str(probed.config))
    assert done.stderr == ""
    assert not runtime_dir.exists()
