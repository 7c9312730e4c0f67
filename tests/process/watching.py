"""A config with a watcher in the background, and what its users ask."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from probed_host import WAIT_SECONDS, Probed, command

from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.rollout import Stage, wait_for

LAYERS = {"dump_enable": True, "exec_range": "all"}
CHILDREN = {"dump_enable": True, "exec_range": "all", "op_name": "attention", "save_child": True}
OFF = {"dump_enable": False}


def start_watcher(config: Path, holder: int | None = None) -> None:
    """Leave a watcher in the background, held by this process unless another is named, and wait until it is there."""
    command("watch", "--detach", "--hold", str(holder or os.getpid()), "--config", str(config))
    with Channel.attach(channel_folder(str(config))) as channel:
        look = wait_for(channel, config, lambda look: look.watched and look.is_settled_in_watcher, WAIT_SECONDS)
    assert look.watched


def status(probed: Probed) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(command("status", "--json", "--config", str(probed.config)).stdout)
    return answer


def wait(probed: Probed, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return command("wait", "--config", str(probed.config), *options, check=check)


def settle(probed: Probed) -> Stage:
    """Wait until the watcher is done with the file."""
    with Channel.attach(channel_folder(str(probed.config))) as channel:
        return wait_for(channel, probed.config, lambda look: look.is_settled_in_watcher, WAIT_SECONDS).stage


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    until = time.monotonic() + WAIT_SECONDS
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < until, "it does not end"


def nothing_in(runtime_dir: Path) -> bool:
    """Tell whether no channel, nor anything of one, is left there."""
    return not runtime_dir.exists() or list(runtime_dir.iterdir()) == []
