"""Whole runs of the stand-in's model under the preloaded library: exactly the selected files, with the right bytes.

What should be there comes from two sources that know nothing of the compiled rules: the stand-in writes what it
computed itself, and `decide` says which ops are selected.
"""

from __future__ import annotations

import csv
import io
import shutil
from typing import Any

import numpy as np
import pytest
from expected_files import Expected, expected_files, read_expected, run_model
from probed_host import Probed

LAYERS_OF_A_STEP = 4
"""Word embedding, one layer, norm and head."""

CONFIGS: dict[str, dict[str, Any]] = {
    "layers": {"exec_range": "all"},
    "everything": {"exec_range": "all", "save_child": True},
    "first round by default": {},
    "ids": {"exec_range": "all", "ids": "0,5_1"},
    "ids with children": {"exec_range": "all", "ids": "5_1", "save_child": True},
    "op_name": {"exec_range": "all", "op_name": "linear"},
    "op_name with children": {"exec_range": "all", "op_name": "mlp,word", "save_child": True},
    "op_name as a path": {"exec_range": "all", "op_name": "prefill_layer/attention"},
    "ids or op_name": {"exec_range": "all", "ids": "1", "op_name": "lmhead"},
    "rounds": {"exec_range": "1,1", "save_child": True},
    "two ranges of rounds": {"exec_range": "0,0,2,9", "ids": "5", "save_child": True},
    "this device": {"exec_range": "all", "device": "3"},
    "another device": {"exec_range": "all", "device": "4"},
    "statistics": {"exec_range": "all", "ids": "5", "save_child": True, "task": "statistics"},
    "both tasks": {"exec_range": "all", "ids": "5", "save_child": True, "task": "all"},
    "no round": {"exec_range": "none", "save_child": True},
    "off": {"dump_enable": False, "exec_range": "all", "save_child": True},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_exactly_the_selected_files_are_written(probed_either: Probed, name: str) -> None:
    rules = {"dump_enable": True, "filter_level": 0, **CONFIGS[name]}
    expectation = run_model(probed_either, rules)

    files = {path: data for path, data in probed_either.files().items() if not path.endswith(".csv")}
    assert files == expected_files(rules, expectation)


def test_the_configs_select_something_unless_they_should_not(probed: Probed) -> None:
    """Otherwise the comparison above could compare nothing with nothing."""
    expectation = run_model(probed, {"dump_enable": False})
    counts = {name: len(expected_files({"dump_enable": True, **CONFIGS[name]}, expectation)) for name in CONFIGS}
    empty = {name for name, count in counts.items() if count == 0}
    assert empty == {"another device", "no round", "off"}
    assert probed.files() == {}


@pytest.mark.parametrize("options", [["--plain-names"], ["--plugin-operations"], ["--threads", "3"]])
def test_other_hosts_are_dumped_as_well(probed: Probed, options: list[str]) -> None:
    rules = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0}
    expectation = run_model(probed, rules, *options)

    files = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
    assert len(files) > 100
    assert files == expected_files(rules, expectation)


@pytest.mark.parametrize("device", ["", "0", "1", "0,1", "2"])
@pytest.mark.parametrize("threads", [["--threads", "2"], ["--threads", "4", "--execute-on-other-thread"]])
def test_each_of_two_devices_in_one_process_has_its_own(probed: Probed, device: str, threads: list[str]) -> None:
    rules = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0, "device": device}
    expectation = run_model(probed, rules, "--device", "0,1", *threads)

    files = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
    assert files == expected_files(rules, expectation)
    assert {path.split("_")[0] for path in files} == {"": {"0", "1"}, "2": set()}.get(device, set(device.split(",")))


@pytest.mark.slow
def test_threads_that_start_together_lose_no_op(probed: Probed) -> None:
    """The first Setup of a process decides for good which ops are ever asked about.

    Whole models, which take a while to start; test_first_setup.py has bare threads, and more processes of them.
    """
    rules = {"dump_enable": True, "exec_range": "all", "filter_level": 0}
    probed.publish(rules)
    expectation = probed.folder / "expected"
    for _ in range(50):
        with probed.model("--layers", "1", "--threads", "8", "--expect", str(expectation)) as model:
            model.step()
        files = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
        assert files == expected_files(rules, expectation)
        assert len({path.split("/")[2] for path in files}) == 8 * LAYERS_OF_A_STEP
        shutil.rmtree(expectation)
        shutil.rmtree(probed.data)


def test_a_process_says_its_device_from_the_first_call_on(probed: Probed) -> None:
    """Without an edit in between, which would make it ask again."""
    probed.publish({"dump_enable": False})
    with probed.model("--device", "3") as model:
        model.step()
        assert probed.process(model.pid).device == 3


def test_rounds_are_those_of_the_argument_not_of_the_folder(probed: Probed) -> None:
    rules = {"dump_enable": True, "exec_range": "1,1"}
    expectation = run_model(probed, rules, "--setups-per-execute", "2", "--always-prefill")

    folders = {path.split("/")[1] for path in probed.files()}
    assert folders == {"3"}, "round 1 has folder 3 where every execution follows two setups"
    files = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
    assert files == expected_files(rules, expectation)


NUMPY_DTYPES = {0: np.float32, 1: np.float16, 3: np.int32, 9: np.int64}
DTYPE_NAMES = {0: "float", 1: "float16", 3: "int32", 9: "int64"}


@pytest.mark.parametrize("task", ["tensor", "statistics", "all"])
def test_every_tensor_has_its_row_in_order(probed: Probed, task: str) -> None:
    rules = {"dump_enable": True, "exec_range": "all", "save_child": True, "task": task}
    expectation = run_model(probed, rules)
    tensors, _ = read_expected(expectation)

    folders = {tensor.path.split("/")[1] for tensor in tensors}
    assert len(folders) > 1
    for folder in folders:
        text = next(iter(probed.data.glob(f"*/{folder}/statistic.csv"))).read_text(encoding="utf-8")
        rows = list(csv.DictReader(io.StringIO(text)))
        here = [tensor for tensor in tensors if tensor.path.split("/")[1] == folder]
        assert [row_place(row) for row in rows] == [tensor_place(tensor) for tensor in here]
        for row, tensor in zip(rows, here, strict=True):
            assert row["Tensor Path"] == ("N/A" if task == "statistics" else str(probed.data / tensor.path))
            assert row["Dtype"] == DTYPE_NAMES[tensor.dtype]
            assert row["Shape"] == tensor.dims.replace(",", "x")
            check_statistics(row, tensor, wanted=task != "tensor")


def row_place(row: dict[str, str]) -> tuple[str, ...]:
    return (row["Device and PID"], row["Execution Count"], row["Op Id"], row["Input/Output"], row["Index"])


def tensor_place(tensor: Expected) -> tuple[str, ...]:
    process, count, *components, _, file = tensor.path.split("/")
    ids = "_".join(component.split("_")[0] for component in components)
    kind = "input" if tensor.is_input else "output"
    index = file.removeprefix("intensor").removeprefix("outtensor").removesuffix(".bin")
    return (process, count, ids, kind, index)


def check_statistics(row: dict[str, str], tensor: Expected, *, wanted: bool) -> None:
    columns = ("Max", "Min", "Mean", "Norm")
    if not wanted:
        assert {row[column] for column in columns} == {"N/A"}
        return
    values = np.frombuffer(tensor.data, NUMPY_DTYPES[tensor.dtype]).astype(np.float64)
    exact = (values.max(), values.min(), values.mean(), np.sqrt((values**2).sum()))
    # Max and Min of the narrow floats are written as the shortest text that reads back as a float.
    read = np.float32 if tensor.dtype in (0, 1) else np.float64
    assert (read(row["Max"]), read(row["Min"])) == exact[:2]
    assert [float(row[column]) for column in ("Mean", "Norm")] == pytest.approx(exact[2:], rel=1e-12, abs=1e-12)
