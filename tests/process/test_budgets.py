"""Rules that end: after some operations, or with a budget of bytes."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest
from expected_files import read_expected
from probed_host import Probed
from runner_calls import RunnerCalls

ON: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "filter_level": 0}
KILOBYTE = np.arange(256, dtype=np.float32)


def kept_operations(probed: Probed) -> list[str]:
    """What there is anything of, `<count>/<operation>`, in order."""
    found = {path.split("/", 1)[1].rsplit("/", 2)[0] for path in probed.files() if path.endswith(".bin")}
    return sorted(found, key=lambda name: (int(name.split("/")[0]), name))


def execute(calls: RunnerCalls, rounds: int, operation: str = "0_Layer") -> list[bool]:
    """Execute an operation round after round; tell in which ones its inputs were asked for."""
    asked = []
    for number in range(rounds):
        directory = f"0_1/{number}/{operation}"
        asked.append(calls.before(directory, [KILOBYTE], number))
        calls.after(directory, [KILOBYTE], number)
        calls.end(directory, number)
    return asked


def test_after_so_many_operations_nothing_is_asked_for(probed: Probed) -> None:
    probed.publish({**ON, "stop_after": 3})
    with probed.caller() as host:
        assert execute(RunnerCalls(host), 6) == [True] * 3 + [False] * 3
        assert not host.call("IsExecuteCountInRange", 9), "no rule is left"
    assert kept_operations(probed) == ["0/0_Layer", "1/0_Layer", "2/0_Layer"]
    assert probed.process(host.pid).hits[0] == 3
    assert len([line for line in host.messages.splitlines() if "ended" in line]) == 1


def test_an_edit_starts_anew(probed: Probed) -> None:
    rules = {**ON, "stop_after": 2}
    probed.publish(rules)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        assert execute(calls, 3) == [True, True, False]
        probed.publish(rules)
        assert execute(calls, 3) == [True, True, False]


def test_a_forked_child_counts_for_itself(probed: Probed) -> None:
    probed.publish({**ON, "stop_after": 2})
    with probed.caller() as host:
        assert execute(RunnerCalls(host), 3) == [True, True, False]
        host.call("fork")
        assert execute(RunnerCalls(host), 3) == [True, True, False]


@pytest.mark.parametrize("threads", [1, 4])
def test_exactly_so_many_on_many_threads_and_each_whole(probed: Probed, threads: int) -> None:
    expectation = probed.folder / "expected"
    probed.publish({**ON, "stop_after": 10, "save_child": True})
    with probed.model("--layers", "1", "--threads", str(threads), "--expect", str(expectation)) as model:
        model.step(2)
    tensors, _ = read_expected(expectation)
    found = {path: data for path, data in probed.files().items() if path.endswith(".bin")}
    kept = {path.rsplit("/", 2)[0] for path in found}
    assert len(kept) == 10
    assert found == {tensor.path: tensor.file for tensor in tensors if tensor.dir in kept}


@pytest.mark.parametrize(("budget", "kept"), [(1, 1), (2048, 1), (2049, 2), ("4 KiB", 2), (4097, 3), (10**9, 6)])
def test_a_rule_ends_with_its_budget_and_the_operation_under_way_is_finished(
    probed: Probed, budget: int | str, kept: int
) -> None:
    """Each operation has two kilobytes of data."""
    probed.publish({**ON, "max_bytes": budget})
    with probed.caller() as host:
        assert sum(execute(RunnerCalls(host), 6)) == kept
    assert len(kept_operations(probed)) == kept
    assert len([path for path in probed.files() if path.endswith(".bin")]) == 2 * kept


def test_statistics_cost_nothing_of_a_budget(probed: Probed) -> None:
    probed.publish({**ON, "max_bytes": 1, "task": "statistics"})
    with probed.caller() as host:
        assert all(execute(RunnerCalls(host), 5))


def test_budgets_of_rules_and_one_for_all_of_them(probed: Probed) -> None:
    rules = [{"op_name": "a"}, {"op_name": "b", "max_bytes": 1024}, {"op_name": "c"}]
    probed.publish({**ON, "max_bytes": 7000, "rules": rules})
    with probed.caller() as host:
        calls = RunnerCalls(host)
        assert execute(calls, 2, "1_b") == [True, False]
        assert execute(calls, 2, "0_a") == [True, True]
        assert execute(calls, 2, "2_c") == [True, False], "2 and 4 kilobytes are used up, and this is the one beyond"
        assert execute(calls, 1, "0_a") == [False]


def test_what_waits_counts_when_it_is_kept(probed: Probed) -> None:
    probed.publish({**ON, "max_bytes": 4096, "when": "abs > 1000"})
    large = KILOBYTE + 1000
    with probed.caller() as host:
        calls = RunnerCalls(host)
        asked = []
        for number, output in enumerate([KILOBYTE] * 5 + [large] * 3):
            asked.append(calls.before(f"0_1/{number}/0_Layer", [KILOBYTE], number))
            calls.after(f"0_1/{number}/0_Layer", [output], number)
            calls.end(f"0_1/{number}/0_Layer", number)
    assert asked == [True] * 7 + [False]
    assert kept_operations(probed) == ["5/0_Layer", "6/0_Layer"]


def test_a_rule_that_has_ended_meanwhile_does_not_keep_what_waits(probed: Probed) -> None:
    """The inner operation is the one and only; the outer one, which began before it, is not looked at any more."""
    probed.publish({**ON, "when": "nan", "stop_after": 1, "save_child": True})
    bad = KILOBYTE * np.float32(np.nan)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before("0_1/0/0_Layer", [KILOBYTE])
        calls.execute("0_1/0/0_Layer/0_Linear", [KILOBYTE], [bad])
        assert not calls.after("0_1/0/0_Layer", [bad]), "a copy for nothing"
        assert not calls.end("0_1/0/0_Layer")
    assert kept_operations(probed) == ["0/0_Layer/0_Linear"]


@pytest.mark.parametrize("task", ["tensor", "all", "statistics"])
def test_of_larger_tensors_there_are_statistics_alone(probed: Probed, task: str) -> None:
    probed.publish({**ON, "max_tensor_bytes": 1024, "task": task})
    with probed.caller() as host:
        RunnerCalls(host).execute("0_1/0/0_Layer", [KILOBYTE, np.append(KILOBYTE, 1)], [KILOBYTE])
    with (probed.data / "0_1/0/statistic.csv").open(encoding="utf-8", newline="") as lines:
        table = [(row["Max"], row["Tensor Path"] != "N/A") for row in csv.DictReader(lines)]
    small = ("N/A" if task == "tensor" else "255", task != "statistics")
    assert table == [small, ("255", False), small]
    bins = sorted(path.rsplit("/", 1)[1] for path in probed.files() if path.endswith(".bin"))
    assert bins == ([] if task == "statistics" else ["intensor0.bin", "outtensor0.bin"])


def test_limits_of_the_rules_that_take_a_tensor(probed: Probed) -> None:
    """What one rule finds too large, another one may still want."""
    rules = [{"max_tensor_bytes": 1}, {"io": "in", "max_tensor_bytes": "1 MiB"}]
    probed.publish({**ON, "rules": rules})
    with probed.caller() as host:
        RunnerCalls(host).execute("0_1/0/0_Layer", [KILOBYTE], [KILOBYTE])
    assert [path for path in probed.files() if path.endswith(".bin")] == ["0_1/0/0_Layer/before/intensor0.bin"]
