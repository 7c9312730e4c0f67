"""Catalogues from each kind of source, and joined: plug-ins have one name in graphs and another in paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atbprobe_rules.catalogue.graphs import GraphError
from atbprobe_rules.catalogue.ops import Catalogue, Op
from atbprobe_rules.catalogue.sources import SourceError, read_catalogue
from atbprobe_rules.dump.dump_error import DumpError

STATISTIC_HEADER = (
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,"
    "Tensor Path\n"
)
LAYER = {
    "opName": "Prefill_layer_2",
    "opType": "Prefill_layer",
    "nodes": [
        {"opName": "Attention_2_0", "opType": "Attention", "nodes": [{"opName": "PluginOperation_2_0_0"}]},
        {"opName": "PluginOperation_2_1", "opType": "PluginOperation", "inTensors": []},
        {"name": "X", "inTensorIds": [1]},
        {"opName": "linear_2_2_2", "opType": "linear_2"},
    ],
}


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), errors="surrogateescape")
    return path


def paths(catalogue: Catalogue) -> dict[str, Op]:
    return {f"{op.head.decode()} {op.path.decode(errors='surrogateescape')}": op for op in catalogue.ops}


def test_a_graph_of_a_layer(tmp_path: Path) -> None:
    catalogue = read_catalogue([written(tmp_path / "info" / "layer" / "3_77" / "Prefill_layer_2.json", LAYER)])
    assert list(paths(catalogue)) == [
        "3_77 2_Prefill_layer",
        "3_77 2_Prefill_layer/0_Attention",
        "3_77 2_Prefill_layer/1_PluginOperation",
        "3_77 2_Prefill_layer/2_linear_2",
        "3_77 2_Prefill_layer/0_Attention/0_PluginOperation",
    ]
    assert [op.is_plugin for op in catalogue.ops] == [False, False, True, False, True]
    left_out, plugins = catalogue.notes
    assert left_out.endswith("what has no name with ids is left out, 1 of its nodes")
    assert plugins.startswith("2 plug-in operations")


@pytest.mark.parametrize("folder, head", [("3_77", b"3_77"), ("77", b"-1_77"), ("3_77.1", b"3_77"), ("x", b"-1_0")])
def test_the_folder_tells_the_process(tmp_path: Path, folder: str, head: bytes) -> None:
    catalogue = read_catalogue([written(tmp_path / folder / "Prefill_layer_2.json", LAYER)])
    assert {op.head for op in catalogue.ops} == {head}


def test_a_graph_of_a_model_has_the_same_ops(tmp_path: Path) -> None:
    layer = read_catalogue([written(tmp_path / "info" / "layer" / "3_77" / "a.json", LAYER)])
    model = {"modelName": "m", "nodes": [LAYER]}
    of_model = read_catalogue([written(tmp_path / "info" / "model" / "3_77" / "b.json", model)])
    assert paths(of_model).keys() == paths(layer).keys()
    assert paths(read_catalogue([tmp_path / "info"])).keys() == paths(layer).keys()
    assert paths(read_catalogue([tmp_path])).keys() == paths(layer).keys()


def test_graphs_and_paths_are_joined_by_ids(tmp_path: Path) -> None:
    """The path's name counts, for the op itself and for what a graph knows below it."""
    graph = written(tmp_path / "3_77" / "Prefill_layer_2.json", LAYER)
    ops = written(
        tmp_path / "ops.txt", "3_77/0/2_Prefill_layer/1_Mlp<Silu>/0_MlpKernel\n3_77/4/2_Prefill_layer/0_Att\n"
    )
    catalogue = read_catalogue([graph, ops])
    found = paths(catalogue)
    assert set(found) == {
        "3_77 2_Prefill_layer",
        "3_77 2_Prefill_layer/0_Att",
        "3_77 2_Prefill_layer/0_Att/0_PluginOperation",
        "3_77 2_Prefill_layer/1_Mlp<Silu>",
        "3_77 2_Prefill_layer/1_Mlp<Silu>/0_MlpKernel",
        "3_77 2_Prefill_layer/2_linear_2",
    }
    assert found["3_77 2_Prefill_layer/1_Mlp<Silu>"].in_graph
    assert not found["3_77 2_Prefill_layer/1_Mlp<Silu>/0_MlpKernel"].in_graph
    assert not found["3_77 2_Prefill_layer/2_linear_2"].in_path
    assert catalogue.notes[-1].startswith("one plug-in operation")
    assert catalogue.sources == (str(graph), str(ops))


def test_ops_of_other_processes_are_others(tmp_path: Path) -> None:
    graph = written(tmp_path / "3_77" / "Prefill_layer_2.json", LAYER)
    ops = written(tmp_path / "ops.txt", "3_78/0/2_Prefill_layer/1_Mlp\n")
    assert len(read_catalogue([graph, ops])) == 5 + 2


def test_rows_of_statistics(tmp_path: Path) -> None:
    rows = (
        "0_9,4,Prefill_layer/Mlp,Mlp,2_1,input,0,bf16,nd,36x128,1,1,1,1,N/A\n"
        "0_9,4,Prefill_layer/Mlp,Mlp,2_1,output,0_y,float,nd,,1,1,1,1,N/A\n"
        "0_9,5,Prefill_layer/Mlp,Mlp,2_1,input,0,bf16,nd,1x128,1,1,1,1,N/A\n"
        "0_9,5,Prefill_layer/Mlp,Mlp,2_1,input,1,undefined(99),nd,8,1,1,1,1,N/A\n"
        "0_9,5,Prefill_layer/a/b,Mlp,2_1,input,1,float,nd,8,1,1,1,1,N/A\n"
    )
    catalogue = read_catalogue([written(tmp_path / "statistic.csv", STATISTIC_HEADER + rows)])
    assert list(paths(catalogue)) == ["0_9 2_Prefill_layer", "0_9 2_Prefill_layer/1_Mlp"]
    first, second = catalogue.ops[1].executions
    assert (first.round, second.round) == (4, 5)
    assert [(tensor.index, tensor.bytes) for tensor in first.inputs + first.outputs] == [("0", 9216), ("0_y", 4)]
    assert [tensor.bytes for tensor in second.inputs] == [256, None]
    assert catalogue.notes == ("left out: line 6: as many names as ids are needed to know the path",)


def test_a_list_may_hold_anything(tmp_path: Path) -> None:
    ops = written(tmp_path / "list", "7\t0_1/0/1_A/0_\udcff\nnonsense\n\n0_1/2/1_A\n0_1/2/\n")
    catalogue = read_catalogue([ops])
    assert list(paths(catalogue)) == ["0_1 1_A", "0_1 1_A/0_\udcff"]
    assert catalogue.notes == ("lines of the list that are no op paths: 2",)


def test_what_the_ops_command_printed(tmp_path: Path) -> None:
    tensor = {"dtype": "float16", "format": "nd", "shape": [2, 3], "bytes": 12}
    entry = {
        "pid": 7,
        "device": 0,
        "round": 3,
        "id_path": "1_0",
        "name": "B",
        "kind": "operation",
        "dir": "0_7/3/1_A/0_B",
        "inputs": [tensor],
        "outputs": [{**tensor, "shape": None, "bytes": None}],
    }
    listed = written(tmp_path / "ops.jsonl", json.dumps(entry) + "\n")
    catalogue = read_catalogue([listed])
    [execution] = catalogue.ops[1].executions
    assert (execution.round, execution.inputs[0].shape, execution.inputs[0].bytes) == (3, (2, 3), 12)
    assert execution.outputs[0].bytes is None
    del entry["inputs"]
    written(listed, json.dumps(entry) + "\n")
    with pytest.raises(SourceError, match="line 1 is no op as `ops --json` prints them"):
        read_catalogue([listed])


@pytest.mark.parametrize("content", ["{", "[]", "{}" * 3, '{"a":' * 100_000, '{"modelName": 1, "nodes": 3}'])
def test_files_that_are_no_graphs(tmp_path: Path, content: str) -> None:
    path = written(tmp_path / "graph.json", content)
    if content.startswith('{"modelName"'):
        assert len(read_catalogue([path])) == 0
    elif content.startswith("{"):
        with pytest.raises(GraphError, match="this is no graph"):
            read_catalogue([path])
    else:
        assert read_catalogue([path]).notes == ("lines of the list that are no op paths: 1",)


def test_folders_that_are_no_dumps(tmp_path: Path) -> None:
    (tmp_path / "info").mkdir()
    (tmp_path / "other" / "x").mkdir(parents=True)
    with pytest.raises(DumpError, match="this is no dump"):
        read_catalogue([tmp_path / "other"])
    with pytest.raises(FileNotFoundError):
        read_catalogue([tmp_path / "nowhere"])


def test_a_graph_nested_deep(tmp_path: Path) -> None:
    node: dict[str, Any] = {"opName": "X_0"}
    ids = "0"
    for _ in range(150):
        node = {"opName": "X_0", "nodes": [node]}
        ids += "_0"
    catalogue = read_catalogue([written(tmp_path / "0_1" / "deep.json", node)])
    assert len(catalogue) == 151
    assert max(op.path.count(b"/") for op in catalogue.ops) == 150
