"""`explain --on` without a source: the running processes are asked, and named kernels and layers are decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from decoding import decoding
from probed_host import Probed, command

from atbprobe_rules.catalogue.running import catalogue_of_listing
from atbprobe_rules.check import check_config
from atbprobe_rules.cli import explain_on, main
from atbprobe_rules.decide import decide
from atbprobe_rules.listing.ops import KERNEL, OPERATION, ListedOp, ListedTensor
from atbprobe_rules.listing.processes import Listing, Outcome, ProcessListing

RULES = {"dump_enable": False, "exec_range": "all", "op_name": "attention", "save_child": True, "io": "out"}


def explain(config: Path, *options: str) -> Any:
    return json.loads(command("explain", str(config), "--json", *options).stdout)


def paths(told: Any, **wanted: Any) -> set[tuple[str, str]]:
    return {(op["process"], op["path"]) for op in told["ops"] if all(op[key] == value for key, value in wanted.items())}


def test_running_processes_are_asked(probed: Probed) -> None:
    probed.publish(RULES)
    draft = probed.config.with_name("draft.json")
    draft.write_text(json.dumps({**RULES, "dump_enable": True}))
    with decoding(probed, 2, "--always-prefill") as models:
        pids = sorted(model.pid for model in models)
        told = explain(probed.config, "--on")
        listed = probed.folder / "ops.jsonl"
        listed.write_text(command("ops", "--config", str(probed.config), "--json", "--rounds", "2").stdout)
    assert told["sources"] == [f"running processes {pids[0]}, {pids[1]}"]
    assert told["selected"] == 0 and told["operations"] > 50
    assert {op["process"].partition("_")[2] for op in told["ops"]} == set(map(str, pids))

    from_file = explain(draft, "--on", str(listed))
    assert paths(from_file) >= paths(told)
    selection = check_config(draft.read_bytes(), "draft.json").require()
    chosen = {op for op in paths(from_file) if decide(selection, 0, f"{op[0]}/0/{op[1]}").rules}
    assert chosen and chosen == paths(from_file, selected=True)
    assert any("Kernel" in path for _, path in chosen)
    assert from_file["bytes"]["round"]["bytes"] > 0


def test_an_idle_process_is_said_and_what_is_on_disk_is_taken(
    probed: Probed, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = probed.folder / "atb_dump_data" / "info" / "layer" / "0_7" / "Attention_2.json"
    graph.parent.mkdir(parents=True)
    graph.write_text('{"opName": "Attention_2", "opType": "Attention"}')
    probed.publish({**RULES, "dump_enable": True})
    monkeypatch.setattr(explain_on, "SECONDS_TO_LIST", 0.0)
    monkeypatch.setenv("ATB_OUTPUT_DIR", str(probed.folder))
    with probed.model() as model:
        model.step()
        assert main.run(["explain", str(probed.config), "--on", "--json"]) == 0
        answer = capfd.readouterr()
        assert f"process {model.pid} has listed no operation within 0 s" in answer.err
        assert str(probed.folder) in json.loads(answer.out)["sources"][0]


def test_kernels_without_a_directory_are_left_out() -> None:
    """No rule can name them, and their tensors are not those of what calls them."""
    tensor = ListedTensor("float16", "nd", (2, 3), 12)
    operation = ListedOp(7, 0, 3, "1_0", "Add", OPERATION, "0_7/3/1_Layer/0_Add", (tensor,), ())
    kernel = ListedOp(7, 0, 3, "1_0", "ElewiseOperation", KERNEL, "0_7/3/1_Layer/0_Add", (tensor, tensor), ())
    own = ListedOp(7, 0, 3, "1_0_0", "AddKernel", KERNEL, "0_7/3/1_Layer/0_Add/0_AddKernel", (), (tensor,))
    listing = Listing((ProcessListing(7, 0, Outcome.UNFINISHED, 3, (operation, kernel, own)),))
    catalogue = catalogue_of_listing(listing)
    assert [op.path for op in catalogue.ops] == [b"1_Layer", b"1_Layer/0_Add", b"1_Layer/0_Add/0_AddKernel"]
    assert [len(op.executions) for op in catalogue.ops] == [0, 1, 1]
    assert len(catalogue.ops[1].executions[0].inputs) == 1
    assert catalogue.notes == (
        "process 7 has not listed all of its operations: unfinished",
        "kernels without a directory of their own, which no rule can name, are left out: 1",
    )
