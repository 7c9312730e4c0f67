"""`atbprobe-rules ops`: what running processes list of their operations, and what that costs them: no copy at all."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from decoding import Decoder, decoding
from expected_files import read_expected
from listed_host import bells
from probed_host import WAIT_SECONDS, Model, Probed, command, wait_until

from atbprobe_rules.dump.element_types import ELEMENT_TYPES
from atbprobe_rules.listing.ops import KERNEL, OPERATION
from atbprobe_rules.listing.processes import Listing, Outcome, ProcessListing, list_ops

TIMEOUT = ["--timeout", str(WAIT_SECONDS)]

Op = dict[str, Any]


def ops(probed: Probed, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return command("ops", "--config", str(probed.config), *options, check=check)


def listed(probed: Probed, *options: str) -> list[Op]:
    return [json.loads(line) for line in ops(probed, "--json", *TIMEOUT, *options).stdout.splitlines()]


def while_stepping(model: Model, ask: Callable[[], Any], steps: int = 1) -> Any:
    """Let the model run steps for as long as somebody asks for its operations."""
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(ask()))
    asking.start()
    while asking.is_alive():
        model.step(steps)
    asking.join()
    return answers[0]


def ask(probed: Probed, rounds: int = 1, seconds: float = WAIT_SECONDS) -> Listing:
    with probed.channel() as channel:
        return list_ops(channel, rounds, seconds)


def only(listing: Listing) -> ProcessListing:
    (process,) = listing.processes
    return process


def path_of(op: Op) -> str:
    return str(op["dir"]).split("/", 2)[2]


def tensors_by_side(expected: Path) -> dict[tuple[int, str, str], list[tuple[str, list[int], int]]]:
    """(round, dir, side) → type, shape and bytes of the tensors that the stand-in says it computed."""
    by_side = defaultdict(list)
    for tensor in read_expected(expected)[0]:
        shape = [int(dim) for dim in tensor.dims.split(",")] if tensor.dims else []
        side = "inputs" if tensor.is_input else "outputs"
        description = (ELEMENT_TYPES[tensor.dtype].name, shape, len(tensor.data))
        by_side[tensor.round, tensor.dir, side].append(description)
    return by_side


def assert_as_computed(
    op: Op, computed: dict[tuple[int, str, str], list[tuple[str, list[int], int]]], *, is_graph: bool
) -> None:
    for side in ("inputs", "outputs"):
        told = [(tensor["dtype"], tensor["shape"], tensor["bytes"]) for tensor in op[side]]
        known = computed[op["round"], op["dir"], side]
        assert known, f"the model ran no {op['dir']} in round {op['round']}"
        assert told == ([] if is_graph else known)


def test_eight_processes_list_what_they_compute_and_copy_nothing(probed: Probed) -> None:
    """While they decode, with dumping off and no config file."""
    with decoding(probed, 8, "--layers", "1") as decoders:
        found = listed(probed)
    by_pid = defaultdict(list)
    for op in found:
        by_pid[op["pid"]].append(op)
    assert by_pid.keys() == {decoder.pid for decoder in decoders}
    for decoder in decoders:
        own = by_pid[decoder.pid]
        assert {op["device"] for op in own} == {decoder.device}
        assert {op["name"] for op in own if op["kind"] == OPERATION} >= {"WordEmbedding", "Attention", "LmHead"}
        assert {op["name"] for op in own if op["kind"] == KERNEL} >= {"RmsNormKernel", "PpMatMulF16Kernel"}
        assert decoder.report["device_to_host_copies"] == 0
        assert decoder.report["stream_synchronisations"] == decoder.report["steps"], "one a step, of the model itself"
        assert decoder.messages == ""
    paths = [sorted(path_of(op) for op in own) for own in by_pid.values()]
    assert all(len(set(own)) == len(own) for own in paths), "each operation once"
    assert not probed.data.exists()
    assert not list(request_folders(probed))


def request_folders(probed: Probed) -> list[Path]:
    with probed.channel() as channel:
        return list(channel.folder.glob("ops-*"))


@pytest.mark.parametrize("options", ["--layers 2", "--plugin-operations", "--bf16-layer 1", "--plain-names"])
def test_shapes_types_and_ids_are_those_of_the_model(probed_either: Probed, options: str) -> None:
    expected = probed_either.folder / "expected"
    # After the first step, which has operations of its own, all steps are alike.
    with probed_either.model("--expect", str(expected), "--request-length", "4096", *options.split()) as model:
        model.step()
        found: list[Op] = while_stepping(model, lambda: listed(probed_either))
    computed = tensors_by_side(expected)
    graphs = {path_of(op).rpartition("/")[0] for op in found if op["kind"] == OPERATION}
    for op in found:
        assert_as_computed(op, computed, is_graph=path_of(op) in graphs)
        components = path_of(op).split("/")
        assert op["id_path"] == "_".join(component.partition("_")[0] for component in components)
        assert op["name"] == components[-1].partition("_")[2]
        assert op["kind"] == (KERNEL if op["name"].endswith("Kernel") else OPERATION)
        assert {tensor["format"] for tensor in op["inputs"]} <= {"nd"}
    assert {path_of(op) for op in found} == {key[1].split("/", 2)[2] for key in computed if key[0] > 0}


def test_a_dump_that_goes_on_meanwhile_is_the_same(probed: Probed) -> None:
    """Whatever the host is told in order to hear more of it, the rules decide what is copied."""
    rules = {"dump_enable": True, "exec_range": "all", "ids": "*_0", "save_child": True, "filter_level": 0}
    probed.publish(rules)
    steps = 4
    with probed.model("--expect", str(probed.folder / "expected")) as model, probed.channel() as channel:
        model.step()
        before = bells(channel)
        asking: list[Listing] = []
        thread = threading.Thread(target=lambda: asking.append(ask(probed, rounds=2, seconds=WAIT_SECONDS)))
        thread.start()
        wait_until(lambda: bells(channel) > before)
        model.step(steps - 1)
        thread.join()
        assert only(asking[0]).outcome is Outcome.COMPLETE
    tensors, params = read_expected(probed.folder / "expected")
    wanted = {tensor.path: tensor.file for tensor in tensors if is_below_first_child(tensor.path)}
    wanted |= {path: content for path, content in params.items() if is_below_first_child(path)}
    saved = {path: data for path, data in probed.files().items() if not path.endswith(".csv")}
    assert saved == wanted
    assert {int(path.split("/")[1]) for path in saved} == set(range(steps - 1)), "the first step runs once"


def is_below_first_child(path: str) -> bool:
    return len(path.split("/")) > 4 and path.split("/")[3].startswith("0_")


@pytest.mark.parametrize("rounds", [1, 3])
def test_so_many_rounds(probed: Probed, rounds: int) -> None:
    with decoding(probed, 1, "--layers", "1", "--request-length", "4096") as (decoder,):
        found = listed(probed, "--rounds", str(rounds))
    executions = defaultdict(list)
    for op in found:
        executions[op["pid"], path_of(op)].append(op["round"])
    # A prefill may be among them: it comes once.
    counts = {path: len(numbers) for (_, path), numbers in executions.items() if "Prefill" not in path}
    assert set(counts.values()) == {rounds}
    assert all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in executions.values())
    assert decoder.report["device_to_host_copies"] == 0


def test_every_thread_lists_its_own(probed: Probed) -> None:
    with probed.model("--threads", "3", "--steps-in-turn", "1", "--layers", "1") as model:
        model.step(2)
        process = only(while_stepping(model, lambda: ask(probed), steps=3))
    assert process.outcome is Outcome.COMPLETE
    layers = {op.path.partition("/")[0] for op in process.ops if "Prefill" not in op.path}
    assert sorted(layer.partition("_")[2] for layer in layers if "Embedding" in layer) == ["WordEmbedding"] * 3
    assert len({(op.path, op.round) for op in process.ops}) == len(process.ops)


def test_the_thread_that_executes_need_not_be_the_one_that_sets_up(probed: Probed) -> None:
    with probed.model("--execute-on-other-thread") as model:
        model.step()
        process = only(while_stepping(model, lambda: ask(probed)))
    assert process.outcome is Outcome.COMPLETE
    assert {"RmsNormKernel", "Attention"} <= {op.name for op in process.ops}


def test_an_idle_process_is_named_and_what_there_is_is_kept(probed: Probed) -> None:
    with probed.model("--device", "7") as idle:
        idle.step()
        alone = ops(probed, "--timeout", "0.2", check=False)
        assert (alone.returncode, alone.stdout) == (1, "")
        assert f"process {idle.pid} has executed no operation within 0.2 s" in alone.stderr
        with decoding(probed, 1) as (decoder,):
            both = ops(probed, "--json", "--timeout", "2", check=False)
        assert both.returncode == 3
        assert {json.loads(line)["pid"] for line in both.stdout.splitlines()} == {decoder.pid}
        assert both.stderr.splitlines() == [
            f"process {idle.pid} has executed no operation within 2 s: ask again while it works"
        ]
        assert not request_folders(probed)


def test_a_process_that_stops_halfway_has_listed_so_much(probed: Probed) -> None:
    """Here after one whole step: that it is whole shows only when the next one begins."""
    with probed.model("--layers", "1") as model, probed.channel() as channel:
        model.step(2)
        before = bells(channel)
        asked = subprocess.Popen(
            [sys.executable, "-m", "atbprobe_rules", "ops", "--json", "--timeout", "1.5", "--config", probed.config],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with asked:
            wait_until(lambda: bells(channel) > before)
            model.step()
            output, messages = asked.communicate(timeout=WAIT_SECONDS)
        assert asked.returncode == 3
        names = [json.loads(line)["name"] for line in output.splitlines()]
        assert (names[0], "LmHead" in names, names[-1].endswith("Kernel")) == ("WordEmbedding", True, True)
        assert f"process {model.pid} was not through with its rounds within 1.5 s; {len(names)} ops" in messages
        # And nobody is in its way afterwards.
        assert only(while_stepping(model, lambda: ask(probed))).outcome is Outcome.COMPLETE


def test_nobody_to_ask(probed: Probed) -> None:
    nothing = ops(probed, check=False)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "nothing watches" in nothing.stderr
    with probed.channel():
        none = ops(probed, check=False)
    assert (none.returncode, none.stdout) == (1, "")
    assert "no running process has loaded the probe and used it" in none.stderr
    with probed.model() as model:
        model.step()
    ended = ops(probed, check=False)
    assert ended.returncode == 1
    assert "any more (1 process had it and ended)" in ended.stderr


def test_a_model_without_the_probe_is_explained(probed: Probed) -> None:
    with probed.channel():
        probed.extra_environment["LD_PRELOAD"] = ""
        with probed.model() as model:
            model.step()
            none = ops(probed, check=False)
    assert none.returncode == 1
    assert f"process {model.pid} (" in none.stderr
    assert "runs ATB without the probe" in none.stderr


def test_for_people_it_is_a_tree_folded_where_layers_and_processes_are_alike(probed: Probed) -> None:
    with decoding(probed, 2, "--layers", "5", "--request-length", "4096") as decoders:
        short = ops(probed, *TIMEOUT).stdout
        whole = ops(probed, *TIMEOUT, "--all").stdout
    lines = [line.split() for line in short.splitlines()]
    pids = sorted(decoder.pid for decoder in decoders)
    assert sum(f"process {pid}" in short for pid in pids) == 2
    assert ["10", "...", "13", "4", "more", "Decoder_layer", "alike"] in lines
    assert whole.count("Decoder_layer") > short.count("Decoder_layer")
    assert [line[:2] for line in lines if line[1:2] == ["LmHead"]]
    assert "float16 1x64" in " ".join(short.split())
    titles = [line for line in whole.splitlines() if line.startswith("process ")]
    assert [title.split()[1] for title in titles] == [str(pid) for pid in pids]


@pytest.fixture
def decoder(probed: Probed) -> Any:
    with decoding(probed, 1) as (running,):
        yield running


def test_several_ask_at_once(probed: Probed, decoder: Decoder) -> None:
    answers: list[list[Op]] = []
    askers = [threading.Thread(target=lambda: answers.append(listed(probed))) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(answers) == len(askers)
    for found in answers:
        assert {"WordEmbedding", "LmHead"} <= {op["name"] for op in found}
        assert {op["pid"] for op in found} == {decoder.pid}
    assert not request_folders(probed)
