"""info/layer and info/model: the graphs that the host reports."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_reference import file_text, layer_file, model_files
from hypothesis import given, settings
from hypothesis import strategies as st
from probed_host import Probed
from random_graphs import ODD_GRAPHS, operations
from replay import RECORDS, read_record, replay
from standin_host import StandIn

from benchmarks.published_peer import peer_library

ON = {"dump_enable": True, "exec_range": "none"}
OFF = {"dump_enable": False}
STEPS = 2
REPORTING = [path.stem for path in sorted(RECORDS.glob("*.jsonl")) if '"graph"' in path.read_text(encoding="utf-8")]


def leaf(name: str, **fields: Any) -> dict[str, Any]:
    return {"opName": name, "opType": "Leaf", "param": {"b": 1, "a": 2.5}, **fields}


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


def test_a_model_that_runs(probed_either: Probed, native_file: Callable[[str], Path], tmp_path: Path) -> None:
    place = probed_either
    place.publish(ON)
    with place.model("--device", "3") as host:
        host.step(STEPS)
        files = info_files(place)
    expected = expected_files(reports_of_standin(native_file, place.abi, tmp_path))
    assert {kind for kind, _ in expected} == {"layer", "model"}
    assert files == {f"{kind}/3_{host.pid}/{name}": text for (kind, name), text in expected.items()}


def test_a_model_that_ran_before_dumping_was_enabled(
    probed: Probed, native_file: Callable[[str], Path], tmp_path: Path
) -> None:
    probed.publish(OFF)
    with probed.model() as host:
        host.step(STEPS)
        assert info_files(probed) == {}
        probed.publish(ON)
        host.step()
        files = info_files(probed)
    assert by_name(files) == expected_files(reports_of_standin(native_file, 1, tmp_path))


@pytest.mark.parametrize("record", REPORTING)
def test_recorded_hosts(probed: Probed, record: str) -> None:
    calls = read_record(record)
    probed.publish(ON)
    with probed.caller() as host:
        replay(host, calls)
    expected = expected_files(calls)
    assert expected
    assert by_name(info_files(probed)) == expected


def test_nothing_is_written_while_dumping_is_off(probed: Probed) -> None:
    probed.publish(OFF)
    with probed.caller() as host:
        assert host.call("ReportOperationGraphEnable")
        host.call_all([layer_call("A_0"), model_call("model", model("A"))])
    assert not (probed.folder / "atb_dump_data").exists()


def test_without_a_config_graphs_are_not_asked_for(probed: Probed) -> None:
    probed.extra_environment["ATB_DUMP_CONFIG"] = ""
    with probed.caller() as host:
        assert not host.call("ReportOperationGraphEnable")
        host.call_all([layer_call("A_0"), model_call("model", model("A"))])
    assert not (probed.folder / "atb_dump_data").exists()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_a_model_has_its_layers_in_whatever_order_they_come(probed: Probed, order: tuple[int, ...]) -> None:
    calls = [layer_call("A_0"), layer_call("A_1"), model_call("model", model("A", "A", "B"))]
    names = ["A_0", "A_1"]
    probed.publish(ON)
    with probed.caller() as host:
        for count, index in enumerate(order, 1):
            host.call_all([calls[index]])
            known = {names[i]: layer(names[i]) for i in order[:count] if i < 2}
            models = [("model", model("A", "A", "B"))] if 2 in order[:count] else []
            expected = {("model", f"{name}.json"): text for name, text in model_files(models, known).items()}
            written = by_name(info_files(probed))
            assert {path: text for path, text in written.items() if path[0] == "model"} == expected


def test_nodes_are_counted_over_all_models(probed: Probed) -> None:
    models = [("first", model("A", "B")), ("second", model("B", "A"))]
    layers = {"B_1": layer("B_1"), "B_2": layer("B_2"), "A_3": layer("A_3")}
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([model_call(*models[0]), *map(layer_call, layers), model_call(*models[1])])
    written = by_name(info_files(probed))
    for name, text in model_files(models, layers).items():
        assert written["model", f"{name}.json"] == text


def test_each_graph_is_written_once(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), model_call("model", model("A"))])
        first = info_files(probed)
        assert len(first) == 2
        for path in first:
            (probed.folder / "atb_dump_data" / "info" / path).unlink()
        host.call_all([layer_call("A_0", layer("Other_0")), model_call("model", model("Other"))])
        for rules in (OFF, ON):
            probed.publish(rules)
            host.call("UpdateConfig")
        assert info_files(probed) == {}


def test_two_devices_have_a_folder_each(probed: Probed) -> None:
    probed.publish(ON)
    with probed.model("--threads", "2", "--device", "1,2") as host:
        host.step()
        folders = {tuple(path.split("/")[:2]) for path in info_files(probed)}
    # The second context finds that its model's name has been reported.
    assert {("layer", f"1_{host.pid}"), ("layer", f"2_{host.pid}")} < folders
    layers = [Path(path).stem for path in info_files(probed) if path.startswith("layer/")]
    assert len(layers) == len(set(layers)) == 10


def test_without_a_device_the_folder_is_the_pid(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0")])
    assert set(info_files(probed)) == {f"layer/{host.pid}/A_0.json"}


def test_a_forked_child_has_the_graphs_of_its_parent(probed: Probed) -> None:
    probed.publish(OFF)
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), model_call("model", model("A", "A")), (0, "fork", [])])
        probed.publish(ON)
        host.call_all([(0, "UpdateConfig", []), layer_call("A_1")])
        files = info_files(probed)
    assert str(host.pid) not in {path.split("/")[1] for path in files}
    layers = {"A_0": layer("A_0"), "A_1": layer("A_1")}
    expected = {("layer", f"{name}.json"): layer_file(graph) for name, graph in layers.items()}
    expected["model", "model.json"] = model_files([("model", model("A", "A"))], layers)["model"]
    assert by_name(files) == expected


def test_a_child_forked_while_dumping_is_on_writes_them_again(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), (0, "fork", []), (0, "UpdateConfig", [])])
    files = info_files(probed)
    assert len({path.split("/")[1] for path in files}) == 2
    assert set(files.values()) == {layer_file(layer("A_0"))}


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
BEYOND = leaf("Beyond", inTensorNum=2, outTensorNum=1, inTensorIds=[1, 9], outTensorIds=[0])
BEYOND_FILE = leaf("Beyond", inTensors=["A_0_output_0"])
NO_INPUTS = leaf("Source", inTensorNum=0, outTensorNum=1, inTensorIds=[], outTensorIds=[1])


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


def test_what_cannot_be_written_is_said_and_tried_again(probed: Probed) -> None:
    probed.publish(ON)
    obstacle = probed.folder / "atb_dump_data" / "info"
    obstacle.parent.mkdir()
    obstacle.write_text("in the way")
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), layer_call("A_1")])
        obstacle.unlink()
        probed.publish({**ON, "task": "all"})
        host.call("UpdateConfig")
        assert set(info_files(probed)) == {f"layer/{host.pid}/A_{i}.json" for i in (0, 1)}
    assert host.messages.count("cannot write A_0.json to info/") == 1


def test_modes_are_not_open_to_others(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0")])
    file = probed.folder / "atb_dump_data" / "info" / "layer" / str(host.pid) / "A_0.json"
    umask = os.umask(0)
    os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o640 & ~umask
    assert file.parent.stat().st_mode & 0o777 == 0o750 & ~umask


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


@pytest.fixture
def peer(tmp_path: Path, native_file: Callable[[str], Path]) -> Probed:
    """The published package's library in place of ours."""
    library = peer_library(1)
    place = Probed(tmp_path / "peer", native_file, extra_environment={"LD_PRELOAD": str(library)})
    place.folder.mkdir()
    return place


def same_files(probed: Probed, peer: Probed, calls: list[tuple[int, str, list[object]]]) -> None:
    peer.write(ON)
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all(calls)
    # It talks on stdout.
    with peer.caller() as other:
        other.send("".join("\t".join([str(thread), name, *map(str, given)]) + "\n" for thread, name, given in calls))
    files = by_name(info_files(peer))
    assert files
    assert by_name(info_files(probed)) == files


def calls_of(reports: list[dict[str, Any]]) -> list[tuple[int, str, list[object]]]:
    """Layers first: the peer does not give a model the layers that come after it."""
    ordered = sorted(reports, key=lambda call: call["fn"] == "ReportModelTopoInfo")
    return [
        (0, call["fn"], [call["args"].get("opName") or call["args"]["model"], call["args"]["graph"]])
        for call in ordered
    ]


@pytest.mark.peer
def test_the_files_of_a_model_are_the_peers(
    probed: Probed, peer: Probed, native_file: Callable[[str], Path], tmp_path: Path
) -> None:
    same_files(probed, peer, calls_of(reports_of_standin(native_file, 1, tmp_path)))


@pytest.mark.peer
@pytest.mark.parametrize("record", REPORTING)
def test_the_files_of_recorded_hosts_are_the_peers(probed: Probed, peer: Probed, record: str) -> None:
    same_files(probed, peer, calls_of([call for call in read_record(record) if call["fn"] == "ReportOperationGraph"]))


ODD_PARAM = (
    "[-0,-0.0,0.0,0e5,1E5,1e15,1e16,123456789012345.0,1234567890123456.0,0.0001,0.00001,1.50,8.056411743164063,1e-400,"
    "5e-324,1.7976931348623157e308,-9223372036854775808,-9223372036854775809,18446744073709551615,18446744073709551616,"
    '0.10000000000000001,9.999999999999999e+22,true,null,{},[],{"b":1,"a":2,"b":3},'
    r'"\u0000\u0001\b\f\n\r\t\u007f\u0080\u00e9\/\"\\\ud83d\ude00 é"]'
)


@pytest.mark.peer
@pytest.mark.parametrize(
    "graph",
    [
        f'{{"inTensorNum":0,"opName":"A_0","opType":"A","outTensorNum":0,"param":{ODD_PARAM}}}',
        ' {  "inTensorNum" :2, "opName":"A_0" ,"opType":"A","outTensorNum":0,"internalTensorNum":1 , "param":[ 1 ] } ',
        '\ufeff{"foo":1,"opName":"A_0","opType":"A","inTensorNum":1,"inTensorNum":2,"outTensorNum":1,"nodes":[]}',
        json.dumps(
            {**layer("A_0"), "nodes": [BEYOND, NO_INPUTS, {**BEYOND, "inTensorIds": [], "outTensorIds": [0, -1]}]}
        ),
    ],
    ids=["values", "blanks", "keys", "ids"],
)
def test_odd_files_are_the_peers(probed: Probed, peer: Probed, graph: str) -> None:
    same_files(probed, peer, [layer_call("A_0", graph), model_call("model", model("A", "A"))])
