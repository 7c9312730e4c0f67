"""info/layer and info/model: when and where the graphs that the host reports are written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from graph_calls import (
    OFF,
    ON,
    REPORTING,
    STEPS,
    by_name,
    expected_files,
    info_files,
    layer,
    layer_call,
    model,
    model_call,
    reports_of_standin,
)
from graph_reference import layer_file, model_files
from probed_host import Probed
from replay import read_record, replay


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


def test_descriptors_that_the_host_has_closed(probed: Probed) -> None:
    """And whose numbers are now those of its own files, which stay as they are."""
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0"), model_call("model", model("A", "A")), (0, "CloseDescriptors", [])])
        own = {path.name: path.readlink() for path in Path(f"/proc/{host.pid}/fd").iterdir()}
        host.call_all([layer_call("A_1")])
        now = {path.name: path.readlink() for path in Path(f"/proc/{host.pid}/fd").iterdir()}
        assert {number: now.get(number) for number in own} == own
        files = info_files(probed)
    layers = {name: layer(name) for name in ("A_0", "A_1")}
    assert by_name(files) == {
        **{("layer", f"{name}.json"): layer_file(graph) for name, graph in layers.items()},
        ("model", "model.json"): model_files([("model", model("A", "A"))], layers)["model"],
    }


def test_modes_are_not_open_to_others(probed: Probed) -> None:
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all([layer_call("A_0")])
    file = probed.folder / "atb_dump_data" / "info" / "layer" / str(host.pid) / "A_0.json"
    umask = os.umask(0)
    os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o640 & ~umask
    assert file.parent.stat().st_mode & 0o777 == 0o750 & ~umask
