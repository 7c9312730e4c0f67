"""What `explain --on` says that a run writes, against what the stand-in's model really writes under the same rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from expected_files import STEPS, run_model
from probed_host import Probed

from atbprobe_rules.catalogue.ops import Catalogue
from atbprobe_rules.catalogue.sources import read_catalogue
from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.explanation.estimate import Amount, Estimate, estimate
from atbprobe_rules.explanation.op_selection import OpSelection

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True, "task": "statistics"}

CONFIGS: dict[str, dict[str, Any]] = {
    "everything": {"exec_range": "all", "save_child": True},
    "one side": {"exec_range": "0,1", "save_child": True, "io": "out"},
    "the next two": {"next": 2, "save_child": True, "op_name": "!*kernel"},
    "small tensors": {"exec_range": "all", "save_child": True, "max_tensor_bytes": 2000},
    "rules": {
        "exec_range": "1-",
        "rules": [
            {"op_name": "mlp", "save_child": True, "task": "all"},
            {"ids": "*_1_**", "io": "in", "exec_range": "0-/2"},
            {"op_name": "=LmHead", "task": "statistics", "exec_range": "all"},
            {"op_name": "linear", "max_tensor_bytes": 500, "exec_range": "0"},
        ],
    },
    "nothing": {"op_name": "nosuchthing"},
}


def estimated(config: dict[str, Any], catalogue: Catalogue, rounds: int | None = None) -> Estimate:
    selection = check_config(json.dumps(config).encode(), "config.json").require()
    return estimate(OpSelection.of(compile_selection(selection, bytes(32)), catalogue), rounds)


def written(data: Path) -> Amount:
    """The tensors on disk, references aside, and the bytes in them."""
    headers = [BinFile.open(path).header for path in data.rglob("*.bin")]
    whole = [header for header in headers if header.reference is None]
    return Amount(len(whole), sum(header.data_bytes for header in whole))


def recorded_run(probed: Probed, *options: str) -> Catalogue:
    """Run with statistics of everything, which are what the sizes are known from."""
    run_model(probed, EVERYTHING, *options)
    return read_catalogue([probed.folder])


def another(probed: Probed, name: str) -> Probed:
    folder = probed.folder / name
    folder.mkdir()
    return Probed(folder, probed.native_file)


def test_another_run_like_the_recorded_one_writes_what_is_estimated(probed: Probed) -> None:
    """Rounds differ: a prefill, then decoding, with other operations and other sizes."""
    catalogue = recorded_run(probed)
    assert catalogue.notes == ()
    for number, (name, rules) in enumerate(CONFIGS.items()):
        config = {"dump_enable": True, "filter_level": 0, **rules}
        run = another(probed, str(number))
        run_model(run, config)
        assert written(run.data) == estimated(config, catalogue).recorded, name
    assert estimated({"dump_enable": True, **CONFIGS["rules"]}, catalogue).recorded != Amount()


@pytest.mark.parametrize("level", [1, 2, 3])
def test_what_is_stored_once_is_less_than_estimated(probed: Probed, level: int) -> None:
    catalogue = recorded_run(probed)
    config = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": level}
    run = another(probed, "run")
    run_model(run, config)
    most = estimated(config, catalogue).recorded
    assert most is not None
    assert 0 < written(run.data).bytes < most.bytes


def test_rounds_that_are_all_alike_are_counted_from_one(probed: Probed) -> None:
    """Known is one round alone; the run has three."""
    catalogue = recorded_run(probed, "--always-prefill")
    one_round = [op.executions[0] for op in catalogue.ops]
    for op, execution in zip(catalogue.ops, one_round, strict=True):
        op.executions = [execution]
    for number, name in enumerate(["everything", "one side", "small tensors", "rules"]):
        config = {"dump_enable": True, "filter_level": 0, **CONFIGS[name]}
        run = another(probed, str(number))
        run_model(run, config, "--always-prefill")
        assert written(run.data) == estimated(config, catalogue, STEPS).total, name


def test_what_max_bytes_ends_is_bounded(probed: Probed) -> None:
    catalogue = recorded_run(probed)
    config = {"dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0, "max_bytes": 200_000}
    found = estimated(config, catalogue)
    run = another(probed, "run")
    run_model(run, config)
    assert found.recorded is not None and found.limited is not None
    assert 200_000 <= written(run.data).bytes <= found.limited < found.recorded.bytes


def test_the_order_of_executions_does_not_matter(probed: Probed) -> None:
    """`next` counts executions by their rounds."""
    catalogue = recorded_run(probed)
    config = {"dump_enable": True, **CONFIGS["the next two"]}
    before = estimated(config, catalogue).recorded
    for op in catalogue.ops:
        op.executions = list(reversed(op.executions))
    assert estimated(config, catalogue).recorded == before != Amount()
