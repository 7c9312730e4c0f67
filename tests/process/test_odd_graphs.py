"""info/: reports that no framework would make do no harm, and what can be written of them is."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from graph_calls import BEYOND, NO_INPUTS, ON, info_files, layer, layer_call, leaf, model, model_call
from graph_reference import file_text, layer_file
from hypothesis import given, settings
from hypothesis import strategies as st
from probed_host import Probed
from random_graphs import ODD_GRAPHS, operations


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Mlp<Silu>:0 é", "Mlp<Silu>:0 é.json"),
        ("..", "%2E%2E.json"),
        ("up/../../up", "up%2F..%2F..%2Fup.json"),
        ("é" * 150, "é" * 100 + "~"),
    ],
)
def test_odd_names(probed: Probed, name: str, file: str) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call(name)])
    ((path, text),) = info_files(probed).items()
    assert path.split("/")[2].startswith(file)
    assert path.endswith(".json")
    assert text == layer_file(layer(name))


FOREIGN = {"name": "X", "inTensorIds": [0], "outTensorIds": [1]}
FOREIGN_FILE = {"opName": "X", "inTensors": ["A_0_input_0"], "outTensors": ["A_0_output_0"]}
BEYOND_FILE = leaf("Beyond", inTensors=["A_0_output_0"])
MODEL_LEAF = {"opName": "Good", "inTensors": ["x0"], "outTensors": ["x1"]}


@pytest.mark.parametrize(
    ("node", "in_file"),
    [
        pytest.param(FOREIGN, FOREIGN_FILE, id="foreign"),
        pytest.param({"name": "X"}, {"opName": "X"}, id="a name alone"),
        pytest.param({}, {}, id="empty"),
        pytest.param(NO_INPUTS, leaf("Source", outTensors=["A_0_output_0"]), id="no inputs"),
        pytest.param(BEYOND, BEYOND_FILE, id="an id out of range"),
        pytest.param({**BEYOND, "inTensorIds": [1, -1]}, BEYOND_FILE, id="a negative id"),
        pytest.param({**BEYOND, "inTensorIds": [1, 2**32]}, BEYOND_FILE, id="an id beyond 32 bits"),
        pytest.param({**BEYOND, "inTensorIds": [1, 1e300]}, BEYOND_FILE, id="an id that is no integer"),
    ],
)
def test_odd_nodes_do_no_harm_to_the_others(probed: Probed, node: Any, in_file: Any) -> None:
    good = leaf("Good", inTensorNum=1, outTensorNum=1, inTensorIds=[0], outTensorIds=[1])
    graph = {"opName": "A_0", "opType": "A", "param": "", "inTensorNum": 1, "outTensorNum": 1, "nodes": [node, good]}
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0", graph)])
    nodes = json.loads(info_files(probed)[f"layer/{host.pid}/A_0.json"])["nodes"]
    assert nodes == [in_file, leaf("Good", inTensors=["A_0_input_0"], outTensors=["A_0_output_0"])]


def in_model(number: int, node: dict[str, Any]) -> dict[str, Any]:
    """A node of a model, whose layer is not known, as it stands in the file."""
    return {**node, "opName": f"{node['opName']}_{number}", "opType": node["opName"]}


@pytest.mark.parametrize(
    ("node", "in_file"),
    [
        pytest.param({"name": "X"}, {"name": "X"}, id="a name alone"),
        pytest.param({}, {}, id="empty"),
        pytest.param(5, 5, id="a number"),
        pytest.param([{"opName": "X"}], [{"opName": "X"}], id="an array"),
        pytest.param({"opName": 7}, {"opName": 7}, id="a name that is none"),
        pytest.param(
            {"opName": "Source", "outTensors": ["x1"]},
            in_model(0, {"opName": "Source", "outTensors": ["x1"]}),
            id="no inputs",
        ),
        pytest.param(
            {"opName": "Unknown", "inTensors": "x0", "outTensors": [1, None]},
            in_model(0, {"opName": "Unknown", "inTensors": "x0", "outTensors": [1, None]}),
            id="tensors that are none",
        ),
    ],
)
def test_odd_nodes_of_a_model_do_no_harm_to_the_others(probed: Probed, node: Any, in_file: Any) -> None:
    """Each counts as a node, whatever it is."""
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([model_call("model", {"nodes": [node, MODEL_LEAF]})])
    files = info_files(probed)
    assert files == {f"model/{host.pid}/model.json": file_text({"nodes": [in_file, in_model(1, MODEL_LEAF)]})}
    assert "info/" not in host.messages


def test_a_layer_whose_model_names_no_tensors_keeps_its_own_names(probed: Probed) -> None:
    graph = {"nodes": [{"opName": "A"}, {"opName": "A", "inTensors": [None, "w"], "outTensors": []}]}
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), layer_call("A_1"), model_call("model", graph)])
    nodes = json.loads(info_files(probed)[f"model/{host.pid}/model.json"])["nodes"]
    assert [node["nodes"][0]["inTensors"] for node in nodes] == [["A_0_input_0", "A_0_input_1"], ["A_1_input_0", "w"]]
    assert [node["nodes"][1]["outTensors"] for node in nodes] == [["A_0_output_0"], ["A_1_output_0"]]


@pytest.mark.parametrize("nodes", [None, {}, "nodes", 5, []], ids=str)
def test_a_model_without_nodes(probed: Probed, nodes: Any) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([model_call("model", {"modelName": "m", "nodes": nodes}), model_call("next", model("B"))])
    assert info_files(probed) == {
        f"model/{host.pid}/model.json": file_text({"modelName": "m", "nodes": nodes}),
        f"model/{host.pid}/next.json": file_text({**model("B"), "nodes": [in_model(0, model("B")["nodes"][0])]}),
    }


def nested_model(depth: int) -> str:
    """One node with a member of its own that is so deep."""
    return '{"nodes":[{"opName":"A","more":' + "[" * depth + "]" * depth + "}]}"


def test_a_deep_model(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([(0, "ReportModelTopoInfo", ["model", nested_model(2000)])])
    text = info_files(probed)[f"model/{host.pid}/model.json"]
    assert text == nested_model(2000).replace('"A"', '"A_0"').replace("}]}", ',"opType":"A"}]}\n')


def test_a_layer_that_is_too_deep_is_left_out_of_its_model(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0", nested(20000)), layer_call("B_1"), model_call("model", model("A", "B"))])
    files = info_files(probed)
    assert set(files) == {f"layer/{host.pid}/B_1.json", f"model/{host.pid}/model.json"}
    nodes = json.loads(files[f"model/{host.pid}/model.json"])["nodes"]
    assert ["nodes" in node for node in nodes] == [False, True]
    assert host.messages.count("no file in info/ for a graph: nested too deep") == 1


def nested(depth: int) -> str:
    node = '{"inTensorIds":[0],"opName":"D","opType":"D","outTensorIds":[1],"param":"","nodes":['
    return '{"inTensorNum":1,"opName":"A_0","outTensorNum":1,"nodes":[' + node * depth + "]}" * depth + "]}"


def test_a_deep_graph(probed: Probed) -> None:
    depth = 2000
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0", nested(depth)), model_call("model", model("A"))])
    files = info_files(probed)
    assert files[f"layer/{host.pid}/A_0.json"].count('"inTensors":["A_0_input_0"]') == depth + 1
    assert files[f"model/{host.pid}/model.json"].count('"inTensors":["x0"]') == depth


@pytest.mark.parametrize(
    "graph",
    [
        "",
        "{",
        '{"opName":"A_0"} x',
        "[]",
        "5",
        "null",
        '"A_0"',
        '{"a":"\\ud800"}',
        nested(20000),
        "[" * 1_000_000,
        '{"opName":"A_0","internalTensorNum":1e999',
    ],
    ids=range(11),
)
def test_what_is_no_graph_is_one_message(probed: Probed, graph: str) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0", graph), layer_call("A_1", graph), layer_call("A_2")])
    assert set(info_files(probed)) == {f"layer/{host.pid}/A_2.json"}
    assert host.messages.count("no file in info/ for a graph: ") == 1
    assert "A_0" in host.messages
    assert "A_1" not in host.messages


@pytest.mark.parametrize(
    "graph",
    ["", "{", "[]", "5", "null", '"model"', '{"nodes":[}', nested_model(20000), "[" * 1_000_000],
    ids=range(9),
)
def test_what_is_no_model_is_one_message(probed: Probed, graph: str) -> None:
    """And does not count among the nodes of the models after it."""
    probed.publish(ON)
    with probed.caller() as host:
        bad = [(0, "ReportModelTopoInfo", [name, graph]) for name in ("bad", "worse")]
        host.call_all([*bad, layer_call("A_0"), model_call("good", model("A"))])
    files = info_files(probed)
    assert set(files) == {f"layer/{host.pid}/A_0.json", f"model/{host.pid}/good.json"}
    assert json.loads(files[f"model/{host.pid}/good.json"])["nodes"][0]["opName"] == "A_0"
    assert host.messages.count("no file in info/ for a graph: ") == 1
    assert "bad" in host.messages
    assert "worse" not in host.messages


@pytest.mark.parametrize("count", [-3, 10**30, 65537, "3", None, 2.5], ids=str)
def test_a_count_that_is_none_counts_as_zero(probed: Probed, count: Any) -> None:
    graph = leaf("A_0", inTensorNum=count, outTensorNum=1, internalTensorNum=count)
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0", graph)])
    assert info_files(probed) == {f"layer/{host.pid}/A_0.json": file_text(leaf("A_0", outTensors=["A_0_output_0"]))}


def test_names_cannot_fill_the_disk(probed: Probed) -> None:
    """A report of a few kilobytes that asks for gigabytes of names."""
    name = "A" * 5000
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call(name, leaf(name, inTensorNum=65536, outTensorNum=1)), layer_call("B_1")])
    assert set(info_files(probed)) == {f"layer/{host.pid}/B_1.json"}
    assert "128 MiB" in host.messages


def test_random_graphs(probed: Probed) -> None:
    probed.publish(ON)
    numbers = itertools.count()
    with probed.caller() as host:

        @settings(max_examples=150)
        @given(graph=operations(), is_ascii=st.booleans())
        def check(graph: dict[str, Any], is_ascii: bool) -> None:
            name = f"A_{next(numbers)}"
            text = json.dumps({**graph, "opName": name}, ensure_ascii=is_ascii)
            host.call_all([layer_call(name, text)])
            file = probed.folder / "atb_dump_data" / "info" / "layer" / str(host.pid) / f"{name}.json"
            assert file.read_bytes().decode() == layer_file({**graph, "opName": name})

        check()


def test_odd_graphs_leave_the_process_alive(probed: Probed) -> None:
    probed.publish(ON)
    numbers = itertools.count()
    with probed.caller() as host:

        @settings(max_examples=150)
        @given(graph=ODD_GRAPHS)
        def check(graph: Any) -> None:
            name = f"A_{next(numbers)}"
            host.call_all([layer_call(name, json.dumps(graph)), model_call(f"m{name}", graph)])
            for kind, file in (("layer", name), ("model", f"m{name}")):
                path = probed.folder / "atb_dump_data" / "info" / kind / str(host.pid) / f"{file}.json"
                assert path.is_file() == isinstance(graph, dict)
                if path.is_file():
                    json.loads(path.read_bytes())

        check()
