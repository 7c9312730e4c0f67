"""Rules that keep an operation only if one of its outputs holds certain values: it is kept whole, with its inputs."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from expected_files import Expected, read_expected
from probed_host import Probed
from runner_calls import RunnerCalls

ON: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "filter_level": 0}
WHEN: dict[str, Any] = {**ON, "when": "nonfinite"}
CLEAN = np.array([1.0, -2.0], np.float32)
BAD = np.array([1.0, np.nan], np.float32)
LAYER = "0_1/0/0_Layer"
CHILD = f"{LAYER}/0_Linear"


def names(probed: Probed) -> set[str]:
    """The saved tensors and parameters, `before/intensor0.bin` of `LAYER/…`."""
    return {path for path in probed.files() if not path.endswith(".csv")}


def rows(probed: Probed) -> list[dict[str, str]]:
    found = []
    for file in sorted(probed.data.rglob("statistic.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            found += list(csv.DictReader(lines))
    return found


def files_of(directory: str, inputs: int = 1, outputs: int = 1) -> set[str]:
    befores = {f"{directory}/before/intensor{index}.bin" for index in range(inputs)}
    afters = {f"{directory}/after/outtensor{index}.bin" for index in range(outputs)}
    return befores | afters | {f"{directory}/op_param.json"}


# ---- whole models ----

FIRST_ROUND = 1
FAULT_RULES: dict[str, Any] = {**WHEN, "stop_after": 1, "save_child": True, "task": "all"}


def run_with_fault(probed: Probed, fault: str) -> tuple[list[Expected], dict[str, bytes]]:
    expectation = probed.folder / "expected"
    probed.publish(FAULT_RULES)
    options = ["--layers", "1", "--always-prefill", "--expect", str(expectation)]
    with probed.model(*options, *(["--fault", fault] if fault else [])) as model:
        model.step(3)
    return read_expected(expectation)


def operation_of(directory: str) -> str:
    return directory.split("/", 2)[2]


@pytest.fixture(scope="module")
def operations(native_file: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The paths of all operations of the model, kernels too."""
    folder = tmp_path_factory.mktemp("operations")
    probed = Probed(folder, native_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATBPROBE_RUNTIME_DIR", str(folder))
        tensors, _ = run_with_fault(probed, "")
        assert names(probed) == set(), "nothing is kept of a model without a fault"
        assert not probed.data.exists() or not list(probed.data.iterdir()), "not even a folder"
    return sorted({operation_of(tensor.dir) for tensor in tensors})


def test_a_fault_in_each_operation_in_turn(
    probed: Probed, operations: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly that operation is on disk, complete, and nothing else. Half of them wait in memory, half in a file."""
    assert len(operations) > 30
    for number, operation in enumerate(operations):
        place = Probed(tmp_path / str(number), probed.native_file)
        place.folder.mkdir()
        monkeypatch.setenv("ATBPROBE_HELD_BYTES", "0" if number % 2 else "1 GiB")
        tensors, params = run_with_fault(place, f"{operation}:nan@{FIRST_ROUND}")
        faulty = [t for t in tensors if operation_of(t.dir) == operation and t.round == FIRST_ROUND]
        expected = {tensor.path: tensor.file for tensor in faulty}
        expected |= {path: data for path, data in params.items() if path.rpartition("/")[0] == faulty[0].dir}
        found = place.files()
        tables = {path for path in found if path.endswith(".csv")}
        assert {path: data for path, data in found.items() if path not in tables} == expected, operation
        assert {Path(path).name for path in tables} == {"statistic.csv", "anomaly.csv"}
        assert [row["Tensor Path"] for row in rows(place)] == [str(place.data / tensor.path) for tensor in faulty]


# ---- what meets a condition ----

INFINITE = np.array([np.inf, 1.0])
CASES: dict[str, tuple[str, Any, bool]] = {
    "nan": ("nan", np.array([np.nan, 1], np.float32), True),
    "nan is no infinity": ("inf", np.array([np.nan, 1], np.float32), False),
    "infinity is no nan": ("nan", np.array([np.inf, 1], np.float32), False),
    "minus infinity": ("inf", np.array([-np.inf, 1], np.float16), True),
    "both in one": ("inf", np.array([np.nan, 1, -np.inf], np.float64), True),
    "either": ("nan | abs > 5", np.array([6], np.int32), True),
    "neither": ("nan | abs > 5", np.array([5, -5], np.int32), False),
    "below zero": ("abs > 5", np.array([1, -5.5], np.float32), True),
    "beside nan": ("abs > 5", np.array([np.nan, 5.5] * 5000, np.float16), True),
    "not beside nan": ("abs > 5", np.array([np.nan, 5.0] * 5000, np.float16), False),
    "infinity is above": ("abs > 1e308", np.array([np.inf], np.float32), True),
    "all nan": ("abs > 0", np.array([np.nan], np.float32), False),
    "the very next double": ("abs > 1", np.array([np.nextafter(1, 2)], np.float64), True),
    "the bound itself": ("abs > 1", np.array([1.0], np.float64), False),
    "the largest double": ("abs > 1.7976931348623157e308", np.array([np.finfo(np.float64).max]), False),
    "near the largest": ("abs > 1.7976931348623155e308", np.array([np.finfo(np.float64).max]), True),
    "the smallest": ("abs > 0", np.array([5e-324]), True),
    "zero": ("abs > 0", np.array([0.0, -0.0]), False),
    "bf16": ("nonfinite", np.array([np.inf, 0], ml_dtypes.bfloat16), True),
    "bf16 above": ("abs > 100", np.array([-128, 0], ml_dtypes.bfloat16), True),
    "float8": ("nonfinite", np.array([np.inf, 0], ml_dtypes.float8_e5m2), True),
    "float8 beside nan": ("abs > 100", np.array([np.nan, 128], ml_dtypes.float8_e5m2), True),
    "int8": ("abs > 127", np.array([-128], np.int8), True),
    "int64": ("abs > 9e18", np.array([-(2**63)], np.int64), True),
    "uint64": ("abs > 1.8e19", np.array([2**64 - 1], np.uint64), True),
    "bool": ("abs > 0.5", np.array([True]), True),
    "integers are finite": ("nonfinite", np.array([2**31 - 1], np.int32), False),
    "complex by magnitude": ("abs > 4.9", np.array([3 + 4j], np.complex64), True),
    "complex below": ("abs > 5", np.array([3 + 4j], np.complex128), False),
    "complex nan": ("nan", np.array([complex(1, np.nan)], np.complex64), True),
    "complex infinity": ("inf", np.array([complex(0, -np.inf)], np.complex64), True),
    "complex beside nan": ("abs > 9", np.array([complex(1, np.nan), 10j], np.complex64), True),
    "empty": ("nonfinite | abs > 0", np.array([], np.float32), False),
    "unknown element type": ("nonfinite | abs > 0", (99, b"\xff" * 8), False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_meets_a_condition(probed: Probed, name: str) -> None:
    condition, output, is_met = CASES[name]
    probed.publish({**ON, "when": condition})
    with probed.caller() as host:
        RunnerCalls(host).execute(LAYER, [CLEAN], [CLEAN * 0, output])
    assert names(probed) == (files_of(LAYER, outputs=2) if is_met else set())


def test_only_outputs_are_looked_at(probed: Probed) -> None:
    """Inputs behind the operation may be overwritten, outputs before it are stale memory."""
    probed.publish(WHEN)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        assert calls.before(LAYER, [BAD])
        host.save_tensor(f"{LAYER}/before/outtensor0.bin", BAD.tobytes(), dims="2")
        assert calls.after(LAYER, [CLEAN])
        host.save_tensor(f"{LAYER}/after/intensor0.bin", BAD.tobytes(), dims="2")
        assert not calls.end(LAYER)
    assert names(probed) == set()
    assert not rows(probed)


# ---- what waits, and for how long ----


def test_it_is_on_disk_as_soon_as_the_condition_is_met(probed: Probed) -> None:
    """A model may well end itself when it finds the NaN that its user is after."""
    probed.publish(WHEN)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, [CLEAN])
        calls.after(LAYER, [BAD])
        with probed.channel() as channel:
            while (process := channel.processes()[0]).bytes_queued or process.tensors_saved < 2:
                os.sched_yield()
        assert names(probed) == files_of(LAYER) - {f"{LAYER}/op_param.json"}


def test_nested_operations_wait_each_for_itself(probed: Probed) -> None:
    probed.publish({**WHEN, "save_child": True})
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, [CLEAN])
        for child, output in ((f"{LAYER}/0_A", CLEAN), (f"{LAYER}/1_B", BAD), (f"{LAYER}/2_C", CLEAN)):
            calls.execute(child, [CLEAN], [output])
        calls.after(LAYER, [CLEAN, CLEAN])
        calls.end(LAYER)
    assert names(probed) == files_of(f"{LAYER}/1_B")
    assert probed.process(host.pid).ops_open == 0


@pytest.mark.parametrize("held", ["0", "60 KiB", "1 GiB"])
def test_in_memory_or_in_a_file_it_is_the_same(probed: Probed, held: str) -> None:
    """Tensors of many sizes, the larger ones in the file of their operation, and nothing is left of that."""
    probed.extra_environment = {"ATBPROBE_HELD_BYTES": held}
    probed.publish({**WHEN, "save_child": True, "task": "all"})
    sizes = [1, 1000, 5000, 9000, 0, 3]
    inputs = [np.arange(size, dtype=np.float32) for size in sizes]
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, inputs)
        calls.before(CHILD, inputs[::-1])
        calls.after(CHILD, [CLEAN, BAD])
        calls.end(CHILD)
        calls.after(LAYER, [BAD])
        calls.end(LAYER)
    found = probed.files()
    assert names(probed) == files_of(LAYER, len(sizes)) | files_of(CHILD, len(sizes), 2)
    for index, values in enumerate(inputs):
        assert found[f"{LAYER}/before/intensor{index}.bin"].endswith(b"$End=1\n" + values.tobytes())
        assert found[f"{CHILD}/before/intensor{len(sizes) - 1 - index}.bin"].endswith(b"$End=1\n" + values.tobytes())
    maxima = [row["Max"] for row in rows(probed) if row["Op Name"] == "Layer" and row["Input/Output"] == "input"]
    assert maxima == ["N/A" if size == 0 else f"{size - 1}" for size in sizes]
    assert probed.process(host.pid).lost == {}
    assert [path for path in probed.data.rglob(".*") if path.name != ".atbprobe-owner"] == []


@pytest.mark.parametrize("is_met", [False, True])
def test_what_finds_no_room_is_lost_only_if_it_is_kept(probed: Probed, is_met: bool) -> None:
    """Its statistics are there all the same."""
    probed.extra_environment = {"ATBPROBE_HELD_BYTES": "0", "ATBPROBE_MIN_FREE": str(2**60)}
    probed.publish({**WHEN, "task": "all"})
    with probed.caller() as host:
        RunnerCalls(host).execute(LAYER, [CLEAN], [BAD if is_met else CLEAN])
    process = probed.process(host.pid)
    assert process.lost == ({"below_reserve": 2} if is_met else {})
    assert [(row["Max"], row["Tensor Path"]) for row in rows(probed)] == [("1", "N/A"), ("nan", "N/A")][: 2 * is_met]


def test_an_operation_that_fails_in_the_host_leaves_nothing(probed: Probed) -> None:
    probed.publish(WHEN)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, [CLEAN])
        calls.execute("0_1/0/1_Layer", [CLEAN], [CLEAN])
        calls.before("0_1/0/2_Layer", [CLEAN])
    assert names(probed) == set()


def test_a_forked_child_writes_nothing_of_what_its_parent_holds(probed: Probed) -> None:
    """It is the child that goes on, in the middle of the operation."""
    probed.publish(WHEN)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, [CLEAN])
        host.call("fork")
        assert not calls.after(LAYER, [BAD])
        assert not calls.end(LAYER)
        calls.execute("0_1/0/1_Layer", [CLEAN], [BAD], round_number=1)
    assert names(probed) == files_of("0_1/0/1_Layer")


# ---- beside other rules ----


def test_an_operation_is_finished_under_the_rules_it_was_begun_under(probed: Probed) -> None:
    """Also when they are gone by then, and it does not begin to wait under rules that came later."""
    probed.publish(WHEN)
    with probed.caller() as host:
        calls = RunnerCalls(host)
        calls.before(LAYER, [CLEAN])
        probed.publish({"dump_enable": False})
        calls.execute("0_1/0/1_Layer", [CLEAN], [BAD], round_number=5)
        assert names(probed) == set()
    with probed.caller() as host:
        calls = RunnerCalls(host)
        probed.publish(WHEN)
        calls.before(LAYER, [CLEAN])
        probed.publish({"dump_enable": False})
        assert calls.after(LAYER, [BAD])
        assert calls.end(LAYER)
        probed.publish(WHEN)
        assert not calls.after(LAYER, [BAD], round_number=1)
    assert names(probed) == files_of(LAYER)


RULES = [{"name": "always", "task": "statistics"}, {"name": "bad", "when": "nonfinite", "task": "tensor"}]


@pytest.mark.parametrize("is_met", [False, True])
def test_beside_an_unconditional_rule_there_is_one_row_each(probed: Probed, is_met: bool) -> None:
    probed.publish({**ON, "rules": RULES})
    with probed.caller() as host:
        RunnerCalls(host).execute(LAYER, [CLEAN], [CLEAN, BAD if is_met else CLEAN])
    assert [row["Input/Output"] for row in rows(probed)] == ["input", "output", "output"]
    assert [row["Max"] for row in rows(probed)] == ["1", "1", "nan" if is_met else "1"]
    assert [row["Tensor Path"] != "N/A" for row in rows(probed)] == [is_met] * 3
    assert names(probed) == (files_of(LAYER, outputs=2) if is_met else {f"{LAYER}/op_param.json"})
    process = probed.process(host.pid)
    assert process.hits[:2] == (1, int(is_met))
    assert process.ops_selected == 1


@pytest.mark.parametrize("side", ["in", "out"])
def test_sides(probed: Probed, side: str) -> None:
    """Outputs are looked at even where inputs alone are kept."""
    probed.publish({**WHEN, "io": side})
    with probed.caller() as host:
        calls = RunnerCalls(host)
        assert calls.before(LAYER, [CLEAN]) == (side == "in")
        assert calls.after(LAYER, [BAD])
        assert calls.end(LAYER)
    assert names(probed) == {path for path in files_of(LAYER) if f"{side}tensor" in path or "param" in path}


def test_several_conditions_are_each_for_themselves(probed: Probed) -> None:
    """What one rule keeps may be less than what another one would; that is known when all outputs are there."""
    rules = [{"when": "nan", "task": "statistics"}, {"when": "abs > 100", "io": "in", "task": "tensor"}]
    probed.publish({**ON, "rules": rules})
    large = np.array([1000.0], np.float32)
    outputs = {"0_Nan": BAD, "1_Large": large, "2_Both": np.concatenate([BAD, large]), "3_None": CLEAN}
    with probed.caller() as host:
        for operation, output in outputs.items():
            RunnerCalls(host).execute(f"0_1/0/{operation}", [CLEAN], [output])
    found = [(row["Op Name"], row["Input/Output"], row["Max"], row["Tensor Path"] != "N/A") for row in rows(probed)]
    assert found == [
        ("Nan", "input", "1", False),
        ("Nan", "output", "nan", False),
        ("Large", "input", "N/A", True),
        ("Both", "input", "1", True),
        ("Both", "output", "nan", False),
    ]


def test_the_model_hears_of_it_once(probed: Probed) -> None:
    probed.publish({**WHEN, "rules": [{"name": "bad values"}]})
    with probed.caller() as host:
        for number in range(5):
            RunnerCalls(host).execute(f"0_1/0/{number}_Layer", [CLEAN], [BAD])
    lines = [line for line in host.messages.splitlines() if "bad values" in line]
    assert len(lines) == 1
    assert "0_1/0/0_Layer/after/outtensor0.bin" in lines[0]
