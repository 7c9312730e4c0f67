"""What info/ must hold for given reports, computed apart from the library that writes it."""

from __future__ import annotations

import json
from typing import Any

Graph = dict[str, Any]


def file_text(content: Any) -> str:
    """Return a file of info/ as it stands on disk. Floats of 1e15 to 1e16 would be written otherwise there."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def layer_file(graph: Graph) -> str:
    return file_text(_operation(graph, *_own_tensors(graph)))


def model_files(models: list[tuple[str, Graph]], layers: dict[str, Graph]) -> dict[str, str]:
    """Return the files of models, reported in this order, by name; `layers` are those reported at any time."""
    number = 0
    files = {}
    for name, graph in models:
        nodes = []
        for given in graph["nodes"]:
            node = {**given, "opName": f"{given['opName']}_{number}", "opType": given["opName"]}
            layer = layers.get(node["opName"])
            if layer is not None:
                inside = _operation(layer, given["inTensors"], given["outTensors"])
                node.update({key: inside[key] for key in ("internalTensors", "nodes") if key in inside})
            nodes.append(node)
            number += 1
        files[name] = file_text({**graph, "nodes": nodes})
    return files


def _own_tensors(graph: Graph) -> tuple[list[str], list[str]]:
    inputs = [f"{graph['opName']}_input_{i}" for i in range(graph["inTensorNum"])]
    return inputs, [f"{graph['opName']}_output_{i}" for i in range(graph["outTensorNum"])]


def _operation(graph: Graph, inputs: list[str], outputs: list[str]) -> Graph:
    internals = [f"{graph['opName']}_internal_{i}" for i in range(graph.get("internalTensorNum", 0))]
    tensors = inputs + outputs + internals
    nodes = [
        _operation(node, [tensors[i] for i in node["inTensorIds"]], [tensors[i] for i in node["outTensorIds"]])
        for node in graph.get("nodes", [])
    ]
    lists = {"inTensors": inputs, "outTensors": outputs, "internalTensors": internals, "nodes": nodes}
    return {
        **{key: graph[key] for key in ("opName", "opType", "param")},
        **{key: value for key, value in lists.items() if value},
    }
