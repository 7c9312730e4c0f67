"""Retargeting a model that runs: four processes, a watcher, edits in both directions."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path

from probed_host import WAIT_SECONDS, Probed, command

from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.rollout import Stage, wait_for

PROCESSES = 4
EMBEDDING = {"dump_enable": True, "exec_range": "all", "ids": "0", "task": "all"}
ATTENTION = {"dump_enable": True, "exec_range": "all", "op_name": "attention", "save_child": True}
OFF = {"dump_enable": False}


def adopt(probed: Probed, channel: Channel, rules: dict[str, object], pids: set[int]) -> int:
    """Write rules, wait until every process has them, and return their generation."""
    probed.write(rules)
    rollout = wait_for(channel, probed.config, lambda look: look.is_final, WAIT_SECONDS)
    assert rollout.stage is Stage.ADOPTED
    assert rollout.published is not None
    assert {process.pid for process in rollout.live} == pids
    assert {process.generation for process in rollout.live} == {rollout.published.generation}
    return rollout.published.generation


def whole_ops(folder: Path) -> dict[str, set[tuple[str, ...]]]:
    """Return, by op, which sets of files its executions have left: one set alone, where none was cut in two."""
    executions: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for before in folder.rglob("before"):
        op = before.parent
        files = tuple(
            sorted(str(file.relative_to(op)) for side in ("before", "after") for file in op.glob(f"{side}/*"))
        )
        process, _, *components = op.relative_to(folder).parts
        executions[f"{process}/{'/'.join(components)}"].add(files)
    return executions


def test_four_running_processes_are_retargeted_and_no_op_is_cut_in_two(probed: Probed) -> None:
    models: list[subprocess.Popen[str]] = []
    command("watch", "--detach", "--hold", str(os.getpid()), "--config", str(probed.config))
    try:
        for device in range(PROCESSES):
            model = [probed.native_file("standin_model_abi1"), "--forever", "--quiet", "--interval-ms", "2"]
            options = ["--device", str(device), "--request-length", "3"]
            models.append(
                subprocess.Popen([*model, *options], env=probed.environment(), stderr=subprocess.PIPE, text=True)
            )
        pids = {model.pid for model in models}
        with Channel.attach(channel_folder(str(probed.config))) as channel:
            wait_until_attached(channel, pids)
            generations = [
                adopt(probed, channel, rules, pids)
                for rules in (EMBEDDING, ATTENTION, OFF, ATTENTION, EMBEDDING, OFF, EMBEDDING, OFF)
            ]
            selected = {process.pid: process.ops_selected for process in channel.live_processes()}
    finally:
        for model in models:
            model.send_signal(signal.SIGTERM)
        messages = [model.communicate(timeout=WAIT_SECONDS)[1] for model in models]
        command("stop", "--config", str(probed.config))
    assert generations == list(range(1, 9))
    assert [model.returncode for model in models] == [0] * PROCESSES, messages

    # A process may run through an edit without an op of that kind; through eight of them it has met some.
    assert all(count > 0 for count in selected.values())
    executions = whole_ops(probed.data)
    assert {op.split("/")[0] for op in executions} == {
        f"{device}_{pid}" for device, pid in enumerate(m.pid for m in models)
    }
    cut = {op: files for op, files in executions.items() if len(files) > 1}
    assert cut == {}
    assert all(any(file.startswith("after/") for file in files) for found in executions.values() for files in found)
    assert list(probed.data.rglob("op_param.json"))
    lonely = [path for path in probed.data.rglob("op_param.json") if not (path.parent / "before").is_dir()]
    assert lonely == []


def wait_until_attached(channel: Channel, pids: set[int]) -> None:
    """Return when each of the processes has made its first probe call."""
    while {process.pid for process in channel.live_processes()} != pids:
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
