"""What each library does to the process of its host: symbols, graphs, devices, copies."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from compared import Compared
from differences import SIX_DECIMALS
from library_run import BOTH, OURS, PEER, Dump, model_of, run_model, run_under_rules_in_force
from model_runs import EVERYTHING, ModelRuns
from probed_host import NativeFile, Probed
from side_by_side import compare_complete

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.image import encode
from atbprobe_rules.selection import Tasks
from benchmarks.published_peer import peer_library

pytestmark = pytest.mark.peer


@pytest.fixture(params=[1, 0], ids=["abi1", "abi0"])
def abi(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


# ---- symbols ----


def exported(library: Path) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def is_of_the_probe(symbol: str) -> bool:
    return symbol.startswith(("_ZN3atb5Probe", "_ZN9atb_speed10SpeedProbe"))


@pytest.mark.needs_gcc
def test_exports(native_file: NativeFile, compared: Compared, abi: int) -> None:
    ours, peer = exported(native_file(f"libatb_probe_abi{abi}.so")), exported(peer_library(abi))
    compared.notes.append(f"abi{abi}: {len(peer)} symbols exported by the peer, {len(ours)} here")
    assert {symbol for symbol in ours if not is_of_the_probe(symbol) and not symbol.startswith("atbprobe_")} == set()
    assert {symbol for symbol in ours if is_of_the_probe(symbol)} <= peer
    assert len(peer) > 20 * len(ours)
    # The C++ library, for one: a host whose own is another version would bind to it.
    assert {"_ZNSt13runtime_errorD1Ev", "__cxa_throw"} <= peer - ours


# ---- graphs ----


def info_files(place: Probed) -> dict[tuple[str, str], bytes]:
    """(layer or model, file name) → content."""
    info = place.folder / "atb_dump_data" / "info"
    return {(path.parts[-3], path.name): path.read_bytes() for path in info.glob("*/*/*.json")}


def test_graphs_of_a_host_that_never_dumped(tmp_path: Path, native_file: NativeFile, abi: int) -> None:
    """The peer writes them all the same; here they are kept until dumping is enabled."""
    found = {}
    for library in BOTH:
        place = library.place(tmp_path, native_file, abi)
        library.take(place, {"dump_enable": False})
        with model_of(place) as model:
            model.step(3)
            assert (place.folder / "atb_dump_data").exists() != library.is_ours
            if library.is_ours:
                library.take(place, {**EVERYTHING, "exec_range": "none"})
                model.step()
        found[library] = info_files(place)
    # A model's file has more here: layers that are reported after it (test_topology.py).
    assert found[OURS].keys() == found[PEER].keys()
    layers = {name for name in found[PEER] if name[0] == "layer"}
    assert len(layers) == 8
    assert [name for name in layers if found[OURS][name] != found[PEER][name]] == []


# ---- devices ----


def with_runtime(place: Probed) -> Probed:
    """Let the peer find the host's aclrtGetDevice, which it looks for in the toolkit's library only."""
    toolkit = place.folder / "toolkit"
    (toolkit / "lib64").mkdir(parents=True)
    (toolkit / "lib64" / "libascendcl.so").symlink_to(place.native_file(f"libatb_standin_abi{place.abi}.so"))
    place.extra_environment["ASCEND_TOOLKIT_HOME"] = str(toolkit)
    return place


def devices_of_graphs(place: Probed) -> dict[str, set[str]]:
    """Device → names of the layers reported on it, without their ids."""
    found: dict[str, set[str]] = {}
    for path in (place.folder / "atb_dump_data" / "info" / "layer").glob("*/*.json"):
        found.setdefault(path.parent.name.partition("_")[0], set()).add(path.stem.rpartition("_")[0])
    return found


def test_two_devices_in_one_process(tmp_path: Path, native_file: NativeFile, abi: int) -> None:
    """The peer asks for the device once and puts the graphs of both under that one; here it is asked each time."""
    layers = {"WordEmbedding", "Prefill_layer", "Decoder_layer", "RmsNormOperation", "LmHead"}
    two_contexts = ["--threads", "2", "--device", "3,4", "--steps-in-turn", "2"]
    found = {}
    for library in BOTH:
        place = with_runtime(library.place(tmp_path, native_file, abi))
        run_model(library, place, EVERYTHING, two_contexts)
        assert {path.name.partition("_")[0] for path in place.data.iterdir()} == {"3", "4"}
        found[library] = devices_of_graphs(place)
    assert found[OURS] == {"3": layers, "4": layers}
    assert list(found[PEER].values()) == [layers]


# ---- copies ----


def test_an_unselected_device_is_copied_all_the_same_by_the_peer(run: ModelRuns) -> None:
    """Of two contexts on a device each, of which one is selected."""
    rules = {"device": "4"}
    options = ("--threads", "2", "--device", "3,4", "--steps-in-turn", "2")
    everything = run(OURS, {}, *options).host_copies
    selected, peer = (run(library, rules, *options) for library in BOTH)
    assert selected.files.keys() == peer.files.keys()
    assert peer.host_copies == everything
    assert selected.host_copies * 2 == everything


def run_one_pass(folder: Path, native_file: NativeFile, wanted: str) -> Dump:
    """Run the model under a rule of ours that wants only the tensors of one pass."""
    selection = check_config(json.dumps(EVERYTHING).encode(), "config.json").require()
    rules = tuple(
        replace(rule, tasks_out=Tasks.NONE) if wanted == "before" else replace(rule, tasks_in=Tasks.NONE)
        for rule in selection.rules
    )
    place = OURS.place(folder / wanted, native_file, 1)
    place.publish_image(encode(compile_selection(replace(selection, rules=rules), bytes(32))))
    return run_under_rules_in_force(OURS, place)


def test_an_unwanted_pass_is_copied_all_the_same_by_the_peer(
    run: ModelRuns, tmp_path: Path, native_file: NativeFile, compared: Compared
) -> None:
    """It keeps the inputs of one pass and the outputs of the other, after both were copied whole; here a pass that is
    not wanted is refused before its copies."""
    both = run(OURS, {})
    assert compare_complete(both, lambda: run(PEER, {}), compared).keys() <= {SIX_DECIMALS}
    for wanted in ("before", "after"):
        dump = run_one_pass(tmp_path, native_file, wanted)
        assert dump.host_copies * 2 == both.host_copies  # that the peer made as many is compared above
        tensors = {path for path in both.files if f"/{wanted}/" in path}
        assert {path for path in dump.files if path.endswith(".bin")} == tensors
