"""Reports of graphs, as a host makes them, and the files of info/ that come of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_reference import layer_file, model_files
from probed_host import Probed
from replay import RECORDS
from standin_host import StandIn

ON = {"dump_enable": True, "exec_range": "none"}
OFF = {"dump_enable": False}
STEPS = 2
REPORTING = [path.stem for path in sorted(RECORDS.glob("*.jsonl")) if '"graph"' in path.read_text(encoding="utf-8")]


def leaf(name: str, **fields: Any) -> dict[str, Any]:
    return {"opName": name, "opType": "Leaf", "param": {"b": 1, "a": 2.5}, **fields}


# Operations whose ids name no tensor, and without any.
BEYOND = leaf("Beyond", inTensorNum=2, outTensorNum=1, inTensorIds=[1, 9], outTensorIds=[0])
NO_INPUTS = leaf("Source", inTensorNum=0, outTensorNum=1, inTensorIds=[], outTensorIds=[1])


def layer(name: str) -> dict[str, Any]:
    nodes = [
        leaf("First", inTensorNum=2, outTensorNum=1, inTensorIds=[0, 1], outTensorIds=[3]),
        leaf("Second", inTensorNum=1, outTensorNum=1, inTensorIds=[3], outTensorIds=[2]),
    ]
    return {
        **{"inTensorNum": 2, "internalTensorNum": 1, "nodes": nodes},
        **{"opName": name, "opType": name.rpartition("_")[0], "outTensorNum": 1, "param": ""},
    }


def model(*operation_names: str) -> dict[str, Any]:
    nodes = [
        {"opName": name, "inTensors": [f"x{i}", f"w{i}"], "outTensors": [f"x{i + 1}"], "extra": i}
        for i, name in enumerate(operation_names)
    ]
    return {"modelName": "model", "nodes": nodes, "more": {"z": 1, "a": 2}}


def layer_call(name: str, graph: Any = None) -> tuple[int, str, list[object]]:
    text = graph if isinstance(graph, str) else json.dumps(layer(name) if graph is None else graph)
    return 0, "ReportOperationGraph", [name, text]


def model_call(name: str, graph: Any) -> tuple[int, str, list[object]]:
    return 0, "ReportModelTopoInfo", [name, json.dumps(graph)]


def info_files(place: Probed) -> dict[str, str]:
    """All files of info/ that are not hidden: path relative to it → text."""
    info = place.folder / "atb_dump_data" / "info"
    paths = [path for path in sorted(info.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(info)): path.read_bytes().decode() for path in paths}


def by_name(files: dict[str, str]) -> dict[tuple[str, str], str]:
    """The same without the folder of the process: (layer or model, file name) → text."""
    parts = {tuple(path.split("/")): text for path, text in files.items()}
    return {(kind, name): text for (kind, _, name), text in parts.items()}


def expected_files(reports: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """The files for calls as a record has them."""
    layers = {
        call["args"]["opName"]: json.loads(call["args"]["graph"])
        for call in reports
        if call["fn"] == "ReportOperationGraph"
    }
    models = [
        (call["args"]["model"], json.loads(call["args"]["graph"]))
        for call in reports
        if call["fn"] == "ReportModelTopoInfo"
    ]
    files = {("layer", f"{name}.json"): layer_file(graph) for name, graph in layers.items()}
    return files | {("model", f"{name}.json"): text for name, text in model_files(models, layers).items()}


def reports_of_standin(native_file: Callable[[str], Path], abi: int, folder: Path) -> list[dict[str, Any]]:
    record, _ = StandIn.find(native_file, abi).record(folder / "record.jsonl", "everything", "--steps", str(STEPS))
    return [call for call in record if call["fn"] in ("ReportOperationGraph", "ReportModelTopoInfo")]
