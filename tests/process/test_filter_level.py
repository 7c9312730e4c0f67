"""filter_level in whole runs: where it acts, and that every tensor of a run is there or stood for."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from expected_files import Expected, expected_files, read_expected, run_model
from probed_host import Probed
from stored_round import StoredRound

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True}


def stored_rounds(probed: Probed) -> dict[str, StoredRound]:
    """By `<device>_<pid>/<count>`."""
    folders = {"/".join(path.split("/")[:2]) for path in probed.files()}
    return {folder: StoredRound.read(probed.data / folder) for folder in folders}


def is_plain(path: str) -> bool:
    return path.rpartition("tensor")[2].removesuffix(".bin").isdigit()


def check_against(tensors: list[Expected], rounds: dict[str, StoredRound]) -> None:
    """Every one of these tensors is there, or stood for by a file with its bytes; nothing else is there."""
    latest = {tensor.path: tensor for tensor in tensors}
    there = {f"{folder}/{path}" for folder, stored in rounds.items() for path in stored.files}
    assert there == set(latest)
    for tensor in latest.values():
        process, count, path = tensor.path.split("/", 2)
        home = rounds[f"{process}/{count}"].resolve(path)
        assert (home.data, home.dtype, home.dims) == (tensor.data, str(tensor.dtype), tensor.dims), tensor.path


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--plain-names"],
        ["--plain-names", "--bf16-layer", "0"],
        ["--plugin-operations"],
        ["--plain-names", "--threads", "3"],
        ["--plain-names", "--executes-per-setup", "2"],
        ["--execute-on-other-thread"],
    ],
    ids=" ".join,
)
def test_every_tensor_of_a_run_is_there_or_stood_for(probed_either: Probed, options: list[str]) -> None:
    expectation = run_model(probed_either, {**EVERYTHING, "filter_level": 1}, *options)
    tensors, params = read_expected(expectation)
    rounds = stored_rounds(probed_either)

    check_against(tensors, rounds)
    references = [path for stored in rounds.values() for path in stored.references]
    assert len(references) > len({tensor.path for tensor in tensors}) / 4
    assert all(is_plain(path) for path in references)
    assert params.items() <= probed_either.files().items()


@pytest.mark.parametrize("options", [[], ["--plain-names"]], ids=" ".join)
def test_no_content_is_stored_twice(probed: Probed, options: list[str]) -> None:
    """Except in files with a parameter's name."""
    run_model(probed, {**EVERYTHING, "filter_level": 1}, *options)
    for stored in stored_rounds(probed).values():
        whole = [path for path, file in stored.files.items() if not file.reference]
        seen = Counter((stored.files[path].data, stored.files[path].dtype, stored.files[path].dims) for path in whole)
        repeated = {content for content, count in seen.items() if count > 1}
        named = {
            (file.data, file.dtype, file.dims)
            for path, file in stored.files.items()
            if path in whole and not is_plain(path)
        }
        assert repeated <= named


def test_the_text_of_a_reference(probed: Probed) -> None:
    probed.extra_environment["ATBPROBE_WRITERS"] = "1"  # with more, either of two equal tensors may be stored first
    run_model(probed, {**EVERYTHING, "filter_level": 1, "exec_range": "0,0"}, "--plain-names")
    (reference,) = probed.data.glob("*/0/0_WordEmbedding/0_GatherOperation/before/intensor0.bin")
    assert reference.read_bytes() == (
        b"$Version=1.0\n$Object.Count=0\n$Object.Length=0\nformat=2\ndtype=1\ndims=256,64\n"
        b"data=0_intensor0.bin\n$End=1\n"
    )


@pytest.mark.parametrize(
    ("rules", "filtered"),
    [
        ({"ids": "5", "save_child": True}, True),
        ({"ids": "5_1", "save_child": True}, False),
        ({"op_name": "decoder_layer", "save_child": True}, True),
        ({"op_name": "attention", "save_child": True}, False),
        ({"ids": "5,5_1,5_1_0,5_1_1,5_1_2"}, False),
        ({"save_child": True, "filter_level": 0}, False),
        ({"save_child": True, "device": "3"}, True),
    ],
)
def test_it_acts_where_the_layer_is_selected_with_its_children(
    probed: Probed, rules: dict[str, Any], filtered: bool
) -> None:
    config = {"dump_enable": True, "exec_range": "all", "filter_level": 1, **rules}
    expectation = run_model(probed, config, "--plain-names")
    rounds = stored_rounds(probed)
    assert {path.partition("/")[2] for path in expected_files({**config, "filter_level": 0}, expectation)} == {
        path.partition("/")[2] for path in probed.files() if not path.endswith(".csv")
    }
    assert (sum(len(stored.references) for stored in rounds.values()) > 0) == filtered


def test_level_2_keeps_no_data_of_kernels_but_their_rows(probed: Probed) -> None:
    rules = {**EVERYTHING, "filter_level": 2, "task": "all"}
    expectation = run_model(probed, rules)
    tensors, params = read_expected(expectation)
    kernels = [tensor for tensor in tensors if "Kernel" in tensor.dir.rpartition("/")[2]]
    assert kernels

    check_against([tensor for tensor in tensors if tensor not in kernels], stored_rounds(probed))
    assert params.items() <= probed.files().items()
    rows = [row for path in probed.data.glob("*/*/statistic.csv") for row in read_csv(path)]
    assert len(rows) == len(tensors)
    for row in rows:
        is_kernel = "Kernel" in row["Op Type"]
        assert (row["Tensor Path"] == "N/A") == is_kernel
        assert row["Norm"] != "N/A"
        assert is_kernel or Path(row["Tensor Path"]).is_file()


def test_level_3_takes_every_name(probed: Probed) -> None:
    probed.publish({**EVERYTHING, "filter_level": 3})
    expectation = probed.folder / "expected"
    with probed.model("--layers", "1", "--expect", str(expectation)) as model:
        model.step(2)
    rounds = stored_rounds(probed)
    check_against(read_expected(expectation)[0], rounds)
    assert any(not is_plain(path) for stored in rounds.values() for path in stored.references)


def test_an_operation_keeps_its_level_to_its_end(probed: Probed) -> None:
    """Though another one is published between its before and its after pass."""
    probed.publish({**EVERYTHING, "filter_level": 1})
    with probed.caller() as host:
        process = f"0_{host.pid}"

        def run(layer: str, between: Callable[[], object]) -> None:
            folder = f"{process}/0/{layer}"
            for side, file in (("Before", "before/intensor0.bin"), ("After", "after/outtensor0.bin")):
                host.call("IsExecuteCountInRange", 0)
                host.call("IsSaveTensorInSpecificDir", folder)
                assert host.call(f"IsSaveTensor{side}")
                host.save_tensor(f"{folder}/{file}", b"abcd", dtype=4, dims="4")
                if side == "Before":
                    between()

        run("0_A", lambda: probed.publish({**EVERYTHING, "filter_level": 0}))
        run("1_B", lambda: None)
    stored = StoredRound.read(probed.data / process / "0")
    assert stored.references == {"0_A/after/outtensor0.bin": "0_intensor0.bin"}
    assert len(stored.files) == 4


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
