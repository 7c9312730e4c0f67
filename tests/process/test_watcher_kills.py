"""Watchers, processes and commands that are killed at any moment: nothing hangs, nothing is stuck, nothing is left.

The watchers are real processes, forked from this one, so that two hundred of them need no two hundred starts of Python.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from config_edits import write_beside_and_rename
from probed_host import WAIT_SECONDS, ProbeCaller, Probed, command
from watching import LAYERS, nothing_in

from atbprobe_rules import Watcher
from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.holds import hold
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.rollout import Rollout, Stage, wait_for
from atbprobe_rules.watcher_start import stop

KILLS = 200
LONGEST_DELAY = 0.012
"""Seconds before a kill, at random, so that it falls anywhere; an edit is through all of its way in half of it."""


def forked(work: Callable[[], None]) -> int:
    """Do some work in a process of its own and return its pid; 0 is its exit code if all went well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


class Fight:
    """A config with a watcher, a process and somebody who edits; each can be killed and comes anew."""

    def __init__(self, probed: Probed, seed: int) -> None:
        self.probed = probed
        self.folder = channel_folder(str(probed.config))
        self.random = random.Random(seed)
        self.edits = 0
        self.watcher = 0
        self.caller: ProbeCaller | None = None

    def edit(self) -> None:
        self.edits += 1
        write_beside_and_rename(self.probed.config, json.dumps({**LAYERS, "ids": str(self.edits)}))

    def start_watcher(self) -> None:
        with Channel.create(self.folder):
            hold(self.folder, ProcessName.of_this())
        self.watcher = forked(lambda: Watcher(self.probed.config, lambda _: None, holds_itself=False).run())

    def dumps(self) -> bool:
        """Ask for the operation that the last edit selects, in a process that is there or made for it."""
        if self.caller is None:
            self.caller = self.probed.caller()
        dir_of_op = f"0_{self.caller.pid}/0/{self.edits}_Op"
        self.caller.call("IsTensorNeedSave")
        self.caller.call("UpdateConfig")
        asked = self.caller.call("IsExecuteCountInRange", 0)
        return bool(asked and self.caller.call("IsSaveTensorInSpecificDir", dir_of_op))

    def kill_someone(self) -> None:
        victims = self.random.choice(["watcher", "process", "both", "stop"])
        time.sleep(self.random.uniform(0, LONGEST_DELAY))
        if victims == "stop":
            stopping = forked(self.stop)
            time.sleep(self.random.uniform(0, LONGEST_DELAY))
            kill(stopping)
        if victims in ("process", "both") and self.caller is not None:
            self.caller.kill()
            self.caller.end()
            self.caller = None
        if victims != "process":
            kill(self.watcher)
            self.watcher = 0

    def end(self) -> None:
        if self.watcher:  # first, since it has inherited the pipes to the process
            kill(self.watcher)
            self.watcher = 0
        if self.caller is not None:
            self.caller.end()
            self.caller = None

    def stop(self) -> None:
        with contextlib.suppress(AtbprobeError):
            stop(self.folder)

    def settle(self) -> Rollout:
        """Wait until the last edit is in force and asked about, as the next command would."""
        if self.watcher == 0:
            self.start_watcher()

        def is_enough(look: Rollout) -> bool:
            return look.watched and look.is_settled_in_watcher

        with Channel.attach(self.folder) as channel:
            wait_for(channel, self.probed.config, is_enough, WAIT_SECONDS)
            until = time.monotonic() + WAIT_SECONDS
            while not self.dumps():
                assert time.monotonic() < until, "the process has not got its rules"
            return wait_for(channel, self.probed.config, lambda look: look.stage is Stage.ADOPTED, WAIT_SECONDS)

    def strangers(self, generation: int) -> list[str]:
        """Return what is in the runtime folder and belongs to nobody."""
        known = {"control", "watcher.json", f"image-{generation}"}
        names = {path.name for path in self.folder.iterdir() if not path.name.startswith("hold-")}
        return sorted(names - known) + [path.name for path in self.folder.parent.iterdir() if path != self.folder]


@pytest.fixture
def fight(probed: Probed) -> Iterator[Fight]:
    made = Fight(probed, seed=20)
    yield made
    made.end()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whoever_is_killed_the_next_edit_arrives_and_nothing_is_left(fight: Fight, runtime_dir: Path) -> None:
    fight.edit()
    fight.settle()
    for _ in range(KILLS):
        fight.edit()
        fight.kill_someone()
        fight.edit()
        look = fight.settle()
        assert look.stage is Stage.ADOPTED
        assert look.published is not None
        assert fight.strangers(look.published.generation) == []
    fight.end()
    command("stop", "--config", str(fight.probed.config))
    assert nothing_in(runtime_dir)
