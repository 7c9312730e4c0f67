"""`status --follow`: what changes shows at once, and it ends with the channel or an interrupt."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from probed_host import WAIT_SECONDS, Probed, command
from watching import CHILDREN, LAYERS, settle

from atbprobe_rules.rollout import Stage

FOLLOW = [sys.executable, "-m", "atbprobe_rules", "status", "--follow"]


def read_until(follower: subprocess.Popen[str], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    assert follower.stdout is not None
    for line in follower.stdout:
        answer: dict[str, Any] = json.loads(line)
        if holds(answer):
            return answer
    raise AssertionError("it ended before that was so")


def test_as_json_every_change_is_a_line(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    follow = [*FOLLOW, "--json", "--config", str(watched.config)]
    with subprocess.Popen(follow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        assert read_until(follower, lambda answer: answer["generation"] == 1)["processes"] == []
        with watched.model() as model:
            model.step()
            seen = read_until(follower, lambda answer: len(answer["processes"]) == 1)
            assert seen["processes"][0]["pid"] == model.pid
            watched.write(CHILDREN)
            assert read_until(follower, lambda answer: answer["generation"] == 2)["processes"][0]["generation"] == 1
            model.step()
            read_until(follower, lambda answer: answer["processes"][0]["generation"] == 2)
        read_until(follower, lambda answer: answer["processes"][0]["alive"] is False)
        command("watch", "--release", str(os.getpid()), "--config", str(watched.config))
        _, told = follower.communicate(timeout=WAIT_SECONDS)
        assert (follower.returncode, "the channel is gone" in told) == (0, True)


def test_on_a_terminal_it_shows_hits_of_each_rule_until_it_is_interrupted(watched: Probed) -> None:
    watched.write({"dump_enable": True, "exec_range": "all", "rules": [{"name": "first", "ids": "0"}, {"ids": "1"}]})
    assert settle(watched) is Stage.ADOPTED
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    follow = [*FOLLOW, "--config", str(watched.config)]
    with watched.model() as model, following(follow, stdout=inside, stderr=inside, env=environment) as follower:
        os.close(inside)
        model.step()
        shown = b""
        while not all(text in shown for text in (b"first", str(model.pid).encode(), b"each rule has selected")):
            shown += os.read(terminal, 65536)
        follower.send_signal(signal.SIGINT)
        drain(terminal)
        assert follower.wait(WAIT_SECONDS) == 130
    os.close(terminal)
    assert b"gen. 1" in shown


@contextmanager
def following(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    follower = subprocess.Popen(command, **options)
    try:
        yield follower
    finally:
        follower.kill()
        follower.wait()


def drain(terminal: int) -> None:
    """Read what still comes, so that the writer is not held up."""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # how a terminal without the other side ends
        pass


def test_both_ways_say_so_when_nothing_is_watched(probed: Probed) -> None:
    for options in ([], ["--json"]):
        done = command("status", "--follow", *options, "--config", str(probed.config), check=False)
        assert (done.returncode, "nothing watches" in done.stderr) == (1, True)
