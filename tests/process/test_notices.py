"""What a model's own messages say about rules that select nothing, and about a watcher that is gone: once each."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable
from typing import Any

import psutil
import pytest
from probed_host import ProbeCaller, Probed, command

from atbprobe_rules.channel import Channel, channel_folder

ON: dict[str, Any] = {"dump_enable": True, "exec_range": "all"}
LAYER = "0_WordEmbedding"
STEPS = 64  # kStepsUntilIdle
HEARTBEAT_OFFSET = 144
WATCHER_PID_OFFSET = 136


def step(host: ProbeCaller, number: int, *, device: str = "0", thread: int = 0) -> bool:
    """Ask about one op as its runner does, up to the copies, and say that it is through."""
    copied = bool(
        host.call("IsExecuteCountInRange", number, thread=thread)
        and host.call("IsSaveTensorInSpecificDir", f"{device}_1/{number}/{LAYER}", thread=thread)
        and host.call("IsSaveTensorBefore", thread=thread)
    )
    host.call("ReportOperationIOTensorEnable", thread=thread)
    return copied


def run(host: ProbeCaller, numbers: Iterable[int]) -> bool:
    """The same for many rounds; true if anything was copied."""
    return any([step(host, number) for number in numbers])


def notices(messages: str) -> list[str]:
    """The messages without those that dumping is on."""
    lines = [line.removeprefix("[atbprobe] WARNING: ") for line in messages.splitlines()]
    return [line for line in lines if not line.startswith("Ready to dump")]


def test_rules_for_another_device(probed: Probed) -> None:
    """One message whatever number of threads and ops there are."""
    probed.publish({**ON, "device": "4"})
    with probed.caller() as host:
        assert not any(step(host, number, thread=thread) for number in range(3) for thread in (0, 1, 2))
        assert notices(host.end()) == [
            "this process runs on device 0, which rule 1 is not for: nothing is selected by it here"
        ]
    assert probed.files() == {}


def test_several_rules_for_other_devices_are_named(probed: Probed) -> None:
    rules = [{"name": "first", "device": "4-7"}, {"name": "here", "device": "0-3"}, {"device": "!0"}, {"name": "all"}]
    probed.publish({**ON, "rules": rules})
    with probed.caller() as host:
        assert step(host, 0)
        assert notices(host.end()) == [
            "this process runs on device 0, which rules first, 3 are not for: nothing is selected by them here"
        ]


def test_a_new_edit_may_be_for_another_device_again(probed: Probed) -> None:
    with probed.caller() as host:
        for device, expected in (("4", False), ("4,7", False), ("0", True), ("5", False)):
            probed.publish({**ON, "device": device})
            assert [step(host, number) for number in range(3)] == [expected] * 3
        assert [line.partition(",")[0] for line in notices(host.end())] == ["this process runs on device 0"] * 2


def test_a_device_that_the_host_does_not_know(probed: Probed) -> None:
    probed.publish({**ON, "device": "0"})
    with probed.caller() as host:
        assert not step(host, 0, device="-1")
        assert notices(host.end()) == [
            "this process runs on device -1, which rule 1 is not for: nothing is selected by it here"
        ]


@pytest.mark.parametrize("rules", [{"device": ""}, {"device": "0-7"}, {"device": "4", "dump_enable": False}])
def test_no_notice_where_there_is_nothing_to_say(probed: Probed, rules: dict[str, Any]) -> None:
    probed.publish({**ON, **rules})
    with probed.caller() as host:
        run(host, range(STEPS + 10))
        assert notices(host.end()) == []


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([f"{'a' * 40}{number}" for number in range(64)], f"rules {'a' * 40}0, {'a' * 40}1, "),
        (["é" * 100], f"rule {'é' * 40}... is not for"),
        (["a" + "é" * 100, "b"], f"rules a{'é' * 39}..., b are not for"),
    ],
    ids=["many", "long", "cut in a character"],
)
def test_many_and_long_names_are_cut_short(probed: Probed, names: list[str], shown: str) -> None:
    probed.publish({**ON, "rules": [{"name": name, "device": "4"} for name in names]})
    with probed.caller() as host:
        assert not step(host, 0)
        [notice] = notices(host.end())
    assert shown in notice
    assert len(notice) < 400
    if len(names) == 64:
        assert re.search(r", and 59 more are not for: nothing is selected by them here$", notice)


def test_rules_that_select_nothing_in_many_steps(probed: Probed) -> None:
    """Only those that had their chance: not one whose rounds come later, nor one that is known to be elsewhere."""
    names = {
        "no such op": {"op_name": "Atention"},
        "this one": {"op_name": "Word"},
        "later": {"exec_range": "1000-", "ids": "7"},
        "sometimes": {"exec_range": "0-/100000", "ids": "7"},
        "too late": {"exec_range": "0-9"},
        "elsewhere": {"device": "4"},
        "nor this": {"ids": "7"},
    }
    probed.publish({**ON, "rules": [{"name": name, **rule} for name, rule in names.items()]})
    with probed.caller() as host:
        assert run(host, range(100, 100 + STEPS - 1))
        assert step(host, 100 + STEPS - 2), "the same round again is no step"
        assert run(host, range(100 + STEPS - 1, 100 + 2 * STEPS + 10))
        said = notices(host.end())
    assert said == [
        "this process runs on device 0, which rule elsewhere is not for: nothing is selected by it here",
        "rules no such op, nor this: no operation was selected in 64 steps of the model; `atbprobe-rules explain` "
        "tells what a rule selects",
        "rule too late: no round is left, since every operation is at round 100 or beyond; with `next` in place of "
        "`exec_range` the rounds count from the edit",
    ]


def test_idle_rules_are_told_of_once_for_each_edit(probed: Probed) -> None:
    with probed.caller() as host:
        for edit in range(2):
            probed.publish({**ON, "ids": "7"})
            first = edit * 1000
            assert not run(host, range(first, first + 3 * STEPS))
        assert len(notices(host.end())) == 2


def test_an_op_that_runs_seldom_still_has_its_rounds_before_it(probed: Probed) -> None:
    """Rounds are each op's own: as long as one is behind the rule's, they are not over."""
    probed.publish({**ON, "exec_range": "20"})
    with probed.caller() as host:
        for number in range(1000, 1000 + STEPS + 10):
            step(host, number)
            step(host, 10)
        assert notices(host.end()) == []


def test_taking_rules_is_told_of_to_those_who_ask_for_it(probed: Probed) -> None:
    probed.extra_environment["ATB_AIT_LOG_LEVEL"] = "1"
    with probed.caller() as host:
        for number in range(2):
            probed.publish({"dump_enable": False})
            assert not step(host, number)
        assert host.end().splitlines() == [
            f"[atbprobe] INFO: rules of generation {generation} are in force" for generation in (1, 2)
        ]


def test_edits_as_fast_as_they_go_do_not_fill_the_log(probed: Probed) -> None:
    with probed.caller() as host:
        for number in range(200):
            device = "04"[number % 2]
            probed.publish({**ON, "device": device})
            assert step(host, number) == (device == "0")
        assert 16 <= len(notices(host.end())) < 100


# The watcher ---------------------------------------------------------------------------------------------------------


def watcher_of(probed: Probed) -> int:
    with Channel.attach(channel_folder(str(probed.config))) as channel:
        watcher = channel.watcher()
    assert watcher is not None
    return watcher.pid


def kill_watcher(probed: Probed) -> None:
    watcher = psutil.Process(watcher_of(probed))
    watcher.kill()
    watcher.wait()


def let_time_pass(probed: Probed, *, pid: int | None = None) -> None:
    """Put the last sign of life long before now; with `pid` it is that of another process."""
    with (channel_folder(str(probed.config)) / "control").open("r+b") as control:
        control.seek(HEARTBEAT_OFFSET)
        control.write((1).to_bytes(8, "little"))
        if pid is not None:
            control.seek(WATCHER_PID_OFFSET)
            control.write(pid.to_bytes(4, "little"))


def gone(probed: Probed, how: str) -> str:
    return (
        f"the watcher of {probed.config} {how}: edits are not seen, and the rules that this process has stay in force; "
        "source load_atb_probe.sh again"
    )


@pytest.mark.parametrize("rules", [ON, {"dump_enable": False}], ids=["on", "off"])
def test_a_watcher_that_has_died(watched: Probed, rules: dict[str, Any]) -> None:
    watched.write(rules)
    command("wait", "--config", str(watched.config))
    kill_watcher(watched)
    let_time_pass(watched)
    with watched.caller() as host:
        run(host, range(5))
        assert notices(host.end()) == [gone(watched, "has died")]


def test_a_watcher_that_was_stopped(watched: Probed) -> None:
    watched.write(ON)
    command("wait", "--config", str(watched.config))
    with watched.caller() as attached:
        assert attached.call("IsTensorNeedSave"), "for this one the channel stays"
        command("stop", "--config", str(watched.config))
        with watched.caller() as host:
            run(host, range(5))
            assert notices(host.end()) == [gone(watched, "was stopped")]


def test_a_watcher_that_only_is_slow(watched: Probed) -> None:
    watched.write(ON)
    command("wait", "--config", str(watched.config))
    os.kill(watcher_of(watched), signal.SIGSTOP)
    try:
        let_time_pass(watched)
        with watched.caller() as host:
            run(host, range(5))
            assert notices(host.end()) == []
    finally:
        os.kill(watcher_of(watched), signal.SIGCONT)


def test_another_process_with_the_watchers_pid(watched: Probed) -> None:
    watched.write(ON)
    command("wait", "--config", str(watched.config))
    kill_watcher(watched)
    let_time_pass(watched, pid=os.getpid())
    with watched.caller() as host:
        run(host, range(5))
        assert notices(host.end()) == [gone(watched, "has died")]


def test_without_a_watcher_ever_none_is_gone(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        run(host, range(5))
        assert notices(host.end()) == []


def test_a_forked_child_says_it_for_itself(watched: Probed) -> None:
    watched.write(ON)
    command("wait", "--config", str(watched.config))
    kill_watcher(watched)
    with watched.caller() as host:
        assert step(host, 0)
        let_time_pass(watched)
        host.call("fork")
        run(host, range(1, 5))
        assert notices(host.end()) == [gone(watched, "has died")]
