"""How many ops are open: begun under the rules, and not seen to have ended. `wait --drained` goes by it."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from probed_host import WAIT_SECONDS, ProbeCaller, Probed, command
from replay import read_record, replay

from atbprobe_rules.attached_process import Process
from atbprobe_rules.channel import Channel, remove_channel, runtime_lock

EVERYTHING: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "save_child": True, "task": "statistics"}
ONE_THREAD = ["builtin", "builtin_plain_names", "plugin", "resetup"]
LAYER = "0_1/0/0_WordEmbedding"
KERNEL = f"{LAYER}/0_GatherKernel"


def process_of(channel: Channel, host: ProbeCaller) -> Process:
    return next(process for process in channel.processes() if process.pid == host.pid)


def ask(host: ProbeCaller, number: int, directory: str, then: str, thread: int = 0) -> bool:
    """Ask as a runner does."""
    return bool(
        host.call("IsExecuteCountInRange", number, thread=thread)
        and host.call("IsSaveTensorInSpecificDir", directory, thread=thread)
        and host.call(then, thread=thread)
    )


def wait(*options: str, probed: Probed) -> subprocess.CompletedProcess[str]:
    return command("wait", "--config", str(probed.config), *options, check=False)


@dataclass
class Replayed:
    """The calls of a record, each with how many ops were open before it."""

    counted: list[tuple[dict[str, Any], int]]
    at_end: int

    @property
    def most(self) -> int:
        return max(count for _, count in self.counted)

    def paths(self, function: str) -> list[tuple[str, int]]:
        return [(call["args"]["filePath"], count) for call, count in self.counted if call["fn"] == function]

    def assert_quiet_between_ops(self) -> None:
        quiet = [count for call, count in self.counted if is_quiet(call)]
        assert len(quiet) > 3
        assert {*quiet, self.at_end} == {0}


def replay_counting(probed: Probed, record: str, rules: dict[str, Any]) -> Replayed:
    calls = read_record(record)
    probed.publish(rules)
    counts: list[int] = []
    with probed.channel() as channel, probed.caller() as host:
        host.call("IsTensorNeedSave")
        replay(host, calls, before_call=lambda _: counts.append(process_of(channel, host).ops_open))
        at_end = process_of(channel, host).ops_open
    return Replayed(list(zip(calls, counts, strict=True)), at_end)


def is_quiet(call: dict[str, Any]) -> bool:
    """Whether a call belongs to the setup of a layer-level operation: nothing is executed on its thread then."""
    return bool(call["fn"] == "IsTensorNeedSave" and len(call["args"]["ids"]) == 1)


@pytest.mark.parametrize("record", ONE_THREAD)
def test_the_open_ops_are_the_op_that_is_saved_and_those_above_it(probed: Probed, record: str) -> None:
    """In both passes: an op is open until its last tensor has been given to us, those below it are not any more."""
    replayed = replay_counting(probed, record, EVERYTHING)
    saves, params = replayed.paths("SaveTensor"), replayed.paths("SaveParam")
    # <device>_<pid>/<count>/<op>…/before/<file>
    assert saves
    assert [count for _, count in saves] == [len(path.split("/")) - 4 for path, _ in saves]
    assert [count for _, count in params] == [len(path.split("/")) - 3 for path, _ in params]
    replayed.assert_quiet_between_ops()


RULES: list[dict[str, Any]] = [{"io": "in"}, {"io": "out"}, {"ids": "*_*", "save_child": False}]
KERNELS = {"op_name": "*Kernel", "save_child": False}


@pytest.mark.parametrize(
    ("record", "rules"),
    [*itertools.product(ONE_THREAD, RULES), ("builtin", KERNELS), ("builtin_plain_names", KERNELS)],
    ids=repr,
)
def test_at_rest_nothing_is_open(probed: Probed, record: str, rules: dict[str, Any]) -> None:
    replayed = replay_counting(probed, record, {**EVERYTHING, **rules})
    replayed.assert_quiet_between_ops()
    assert replayed.most > 0


def test_with_two_threads_the_sum_counts(probed: Probed) -> None:
    replayed = replay_counting(probed, "two_threads", EVERYTHING)
    saves = replayed.paths("SaveTensor")
    assert all(count > 0 for _, count in saves)
    assert replayed.at_end == 0
    deepest = max(len(path.split("/")) - 4 for path, _ in saves)
    assert replayed.most > deepest, "both threads are in the middle of an op at some time"


def test_ops_that_are_not_selected_are_never_open(probed: Probed) -> None:
    replayed = replay_counting(probed, "nothing_selected", {**EVERYTHING, "op_name": "NoSuchOperation"})
    assert (replayed.most, replayed.at_end) == (0, 0)


def test_an_op_ends_when_its_thread_does(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.channel() as channel, probed.caller() as host:
        for thread in (1, 2):
            assert ask(host, 0, LAYER, "IsSaveTensorBefore", thread)
        assert process_of(channel, host).ops_open == 2
        host.call("EndThread", thread=1)
        assert process_of(channel, host).ops_open == 1
        assert not ask(host, 0, LAYER, "IsSaveTensorAfter", thread=1), "another thread, which has not begun it"
        host.call("EndThread", thread=2)
        assert process_of(channel, host).ops_open == 0


def test_a_forked_child_has_no_open_ops_and_its_parent_keeps_its_own(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.channel() as channel, probed.caller() as host:
        assert ask(host, 0, LAYER, "IsSaveTensorBefore")
        host.call("fork")
        assert ask(host, 0, "0_2/0/0_WordEmbedding", "IsSaveTensorBefore")
        by_pid = {process.pid: process.ops_open for process in channel.live_processes()}
        assert len(by_pid) == 2
        assert set(by_pid.values()) == {1}
        host.call("ReportOperationIOTensorEnable")
        assert not ask(host, 1, "0_2/0/9_Other", "IsSaveTensorAfter")
        by_pid = {process.pid: process.ops_open for process in channel.live_processes()}
        assert by_pid.pop(host.pid) == 1
        assert list(by_pid.values()) == [0]


def test_open_ops_move_to_a_new_channel(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert ask(host, 0, LAYER, "IsSaveTensorBefore")
        with probed.channel() as channel, runtime_lock(channel.folder):
            remove_channel(channel.folder)
        assert host.call("IsExecuteCountInRange", 0)
        assert probed.process(host.pid).ops_open == 1
        assert host.call("IsSaveTensorInSpecificDir", LAYER)
        assert host.call("IsSaveTensorAfter")
        host.call("ReportOperationIOTensorEnable")
        assert probed.process(host.pid).ops_open == 0


def begin(host: ProbeCaller) -> None:
    assert ask(host, 0, LAYER, "IsSaveTensorBefore")
    host.save_tensor(f"{LAYER}/before/intensor0.bin", b"\0\0\0\0")


def end(host: ProbeCaller) -> None:
    assert ask(host, 0, LAYER, "IsSaveTensorAfter")
    host.save_tensor(f"{LAYER}/after/outtensor0.bin", b"\0\0\0\0")
    host.call("ReportOperationIOTensorEnable")


def test_wait_drained_gives_up_on_an_op_that_does_not_end(watched: Probed) -> None:
    watched.write(EVERYTHING)
    assert wait("--adopted", probed=watched).returncode == 0
    with watched.caller() as host:
        begin(host)
        done = wait("--drained", "--timeout", "0.1", probed=watched)
        assert done.returncode == 1
        assert f"process {host.pid} was not through within 0.1 s: 1 op under way" in done.stderr
        both = wait("--adopted", "--drained", "--timeout", "0.1", "--json", probed=watched)
        assert both.returncode == 1
        assert json.loads(both.stdout)["unfinished"] == [host.pid]
        end(host)
        assert wait("--drained", probed=watched).returncode == 0


@pytest.mark.parametrize("options", [["--drained"], ["--adopted", "--drained"]], ids=["drained", "both"])
def test_wait_drained_returns_with_everything_on_disk(watched: Probed, options: list[str]) -> None:
    """While the op is open; its after pass is granted although dumping is off by then."""
    watched.write({**EVERYTHING, "task": "all"})
    assert wait("--adopted", probed=watched).returncode == 0
    with watched.caller() as host:
        begin(host)
        watched.write({"dump_enable": False})
        arguments = [sys.executable, "-m", "atbprobe_rules", "wait", "--config", str(watched.config), *options]
        waiting = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert ask(host, 0, LAYER, "IsSaveTensorAfter"), "one op, one program"
        host.save_tensor(f"{LAYER}/after/outtensor0.bin", b"\0\0\0\0")
        assert waiting.poll() is None, "the op has not ended"
        host.call("ReportOperationIOTensorEnable")
        for number in itertools.count(1):  # a process that asks nothing takes no rules
            if waiting.poll() is not None:
                break
            host.call("IsExecuteCountInRange", number)
        output, errors = waiting.communicate(timeout=WAIT_SECONDS)
        files = watched.files()
        assert (waiting.returncode, errors) == (0, "")
        assert "nothing is under way; 2 tensors saved by 1 process" in output
        assert set(files) == {f"{LAYER}/before/intensor0.bin", f"{LAYER}/after/outtensor0.bin", "0_1/0/statistic.csv"}
        assert len(files["0_1/0/statistic.csv"].splitlines()) == 3


def queue_tensors(host: ProbeCaller) -> None:
    begin(host)
    saves = (("SaveTensor", [2, 0, "", f"{LAYER}/before/intensor{number}.bin", "00" * 4]) for number in range(190))
    host.call_all((0, name, given) for name, given in saves)


@pytest.mark.parametrize(
    ("leave_open", "told"),
    [(begin, "the rest of 1 op that it was in the middle of"), (queue_tensors, "that were queued when it ended")],
    ids=["in an op", "with a queue"],
)
def test_a_killed_process_leaves_a_dump_that_is_incomplete(
    watched: Probed, leave_open: Callable[[ProbeCaller], None], told: str
) -> None:
    watched.write({**EVERYTHING, "task": "all"})
    watched.extra_environment["ATBPROBE_WRITERS"] = "1"
    assert wait("--adopted", probed=watched).returncode == 0
    for _ in itertools.count():  # until the kill has come before the writer was through
        host = watched.caller()
        leave_open(host)
        host.kill()
        host.end()
        done = wait("--drained", probed=watched)
        assert done.returncode == 3
        if f"process {host.pid} has lost" in done.stderr and told in done.stderr:
            break
