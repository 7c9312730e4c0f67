"""What a host copies: of a pass that no rule wants, and of a device that none selects, nothing at all.

The counts are the stand-in's own, of copies from its device. A pass that is granted copies every input and output.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from expected_files import STEPS, expected_files, read_expected, tasks_of
from probed_host import Probed

from atbprobe_rules.check import check_config
from atbprobe_rules.selection import Tasks

BASE: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "filter_level": 0}
KERNELS = {"op_name": "*Kernel"}
RUNNERS = {"op_name": "!*Kernel", "save_child": True}
EVERYTHING = {"save_child": True}

CONFIGS: dict[str, dict[str, Any]] = {
    **{
        f"{io} of {name}": {"io": io, **which}
        for io in ("in", "out", "both")
        for name, which in (("kernels", KERNELS), ("runners", RUNNERS), ("everything", EVERYTHING))
    },
    "sides by rule": {"rules": [{"io": "in", **KERNELS}, {"io": "out", **RUNNERS, "task": "statistics"}]},
    "sides by round": {
        "save_child": True,
        "rules": [{"io": "in", "exec_range": "0"}, {"io": "out", "exec_range": "2"}],
    },
    "a range of ids": {"ids": "0-3"},
    "a child of every layer": {"ids": "*_1"},
    "all layers but one": {"ids": "!1", "save_child": True},
    "below one without kernels": {"ids": "1", "op_name": "!*Kernel", "save_child": True},
    "both fields": {"ids": "1-9", "op_name": "attention", "match": "all", "save_child": True},
    "all rounds but one": {"exec_range": "!1"},
    "all rounds but some": {"exec_range": "!1-2"},
    "the next one": {"next": 1, "ids": "1"},
    "another device": {"device": "4", "save_child": True},
    "all devices but this": {"device": "!3", "save_child": True},
}
EMPTY = {"another device", "all devices but this"}


def run_counted(probed: Probed, rules: dict[str, Any]) -> tuple[Path, int, str]:
    """Run the model under the rules; return the folder of what it computed, its copies, and its messages."""
    expectation = probed.folder / "expected"
    probed.publish(rules)
    with probed.model("--layers", "1", "--device", "3", "--expect", str(expectation)) as model:
        model.step(STEPS)
        model.send("report\n")
        copies = json.loads(model.read_line())["device_to_host_copies"]
        messages = model.end()
    return expectation, copies, messages


def expected_copies(rules: dict[str, Any], folder: Path) -> int:
    """Return the copies of all passes that are wanted."""
    selection = check_config(json.dumps(rules).encode(), "config.json").require()
    tensors, _ = read_expected(folder)
    of_op = Counter(tensor.dir for tensor in tensors)
    passes: set[tuple[str, bool]] = {
        (tensor.dir, tensor.is_input) for tensor in tensors if tasks_of(selection, tensor) is not Tasks.NONE
    }
    return sum(of_op[directory] for directory, _ in passes)


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_not_wanted_is_not_copied(probed: Probed, name: str) -> None:
    rules = {**BASE, **CONFIGS[name]}
    if "next" in rules:
        del rules["exec_range"]
    expectation, copies, _ = run_counted(probed, rules)
    if "next" in rules:
        # Each op of a layer comes under one directory in each round, the first of which is what is next.
        rules = {**{key: value for key, value in rules.items() if key != "next"}, "exec_range": "0"}
    assert copies == expected_copies(rules, expectation)
    assert (copies == 0) == (name in EMPTY)
    files = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
    assert files == expected_files(rules, expectation)


@pytest.mark.parametrize("device", ["4", "!3", "0-2,4-9"])
def test_a_process_on_a_device_that_no_rule_selects_says_so_once(probed: Probed, device: str) -> None:
    probed.publish({**BASE, "device": device})
    with probed.model("--layers", "1", "--device", "3") as model:
        model.step(STEPS)
        probed.publish({**BASE, "device": device, "save_child": True})
        model.step()
        messages = model.end()
    notices = [line for line in messages.splitlines() if "device 3" in line]
    assert len(notices) == 1
    assert "nothing is selected" in notices[0]
    assert probed.files() == {}


@pytest.mark.parametrize(
    "rules", [{"device": "3"}, {"device": ""}, {"device": "!4"}, {"device": "4", "dump_enable": False}]
)
def test_a_process_on_a_selected_device_or_switched_off_says_nothing_of_it(
    probed: Probed, rules: dict[str, Any]
) -> None:
    _, copies, messages = run_counted(probed, {**BASE, **rules})
    assert "device" not in messages
    assert (copies > 0) == rules.get("dump_enable", True)


@pytest.mark.parametrize("pass_first", [False, True], ids=["runner", "kernel"])
def test_rules_with_different_rounds_go_by_the_round_of_their_own_thread(probed: Probed, pass_first: bool) -> None:
    """Two threads are in different rounds at a time, and their questions come interleaved."""
    probed.publish({**BASE, "rules": [{"ids": "0", "exec_range": "0-4"}, {"ids": "1", "exec_range": "5-"}]})
    answers: dict[tuple[int, str], list[bool | None]] = {}
    with probed.caller() as host:
        for first, second in (("0_a", "1_a"), ("1_a", "0_a"), ("0_a", "0_a"), ("1_a", "1_a")):
            asked = {0: (3, first), 1: (7, second)}
            for thread, (number, _) in asked.items():
                assert host.call("IsExecuteCountInRange", number, thread=thread)
            order = ["IsSaveTensorBefore", "IsSaveTensorInSpecificDir"]
            given: dict[int, list[bool | None]] = {0: [], 1: []}
            for question in order if pass_first else order[::-1]:
                for thread, (_, op) in asked.items():
                    arguments = [f"0_1/0/{op}"] if question == "IsSaveTensorInSpecificDir" else []
                    given[thread].append(host.call(question, *arguments, thread=thread))
            for thread, (number, op) in asked.items():
                answers.setdefault((number, op), []).append(all(given[thread]))
    assert answers == {(3, "0_a"): [True] * 2, (3, "1_a"): [False] * 2, (7, "1_a"): [True] * 2, (7, "0_a"): [False] * 2}
