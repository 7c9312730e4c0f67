"""`next`: of each op the next so many executions, counted in each process from the moment it took the rules."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from next_rules import begin, end, execute, executed, image_of, selection_of
from probed_host import WAIT_SECONDS, ProbeCaller, Probed
from replay import calls_of_step, read_record, replay
from stored_round import StoredRound

from atbprobe_rules.decide import decide
from atbprobe_rules.selection import MAX_NUMBER

LAYER = "0_1/{count}/0_Layer"
OTHER = "0_1/{count}/1_Layer"
NOTHING = {"ids": "7", "exec_range": "none"}


def rounds_of(host: ProbeCaller, directory: str, numbers: range, **options: bool) -> list[int]:
    """Return the rounds that were dumped; each round has a Setup of its own, so the directory differs."""
    return [n for n in numbers if execute(host, directory.format(count=n), n, **options)]


@pytest.mark.parametrize("kernel", [False, True], ids=["runner", "kernel"])
def test_nobody_needs_to_know_the_round(probed: Probed, kernel: bool) -> None:
    probed.publish_image(image_of(NOTHING))
    with probed.caller() as host:
        assert rounds_of(host, LAYER, range(1326, 1329), kernel=kernel) == []
        assert rounds_of(host, OTHER, range(5, 7), kernel=kernel) == []
        probed.publish_image(image_of({"next": 2}))
        assert rounds_of(host, LAYER, range(1329, 1335), kernel=kernel) == [1329, 1330]
        assert rounds_of(host, OTHER, range(7, 12), kernel=kernel) == [7, 8]


def test_one_setup_for_many_executions(probed: Probed) -> None:
    """The directory stays the same, and each round is an execution."""
    probed.publish_image(image_of({"next": 3}))
    with probed.caller() as host:
        assert executed(host, "0_1/0/0_Layer", range(6)) == [0, 1, 2]


def test_every_taken_edit_begins_anew(probed: Probed) -> None:
    """Also one that says the same."""
    image = image_of({"next": 2})
    with probed.caller() as host:
        for first in (0, 10, 20):
            probed.publish_image(image)
            assert rounds_of(host, LAYER, range(first, first + 5)) == [first, first + 1]


def test_devices_count_apart_and_threads_together(probed: Probed) -> None:
    probed.publish_image(image_of({"next": 2}))
    with probed.caller() as host:
        dumped: Counter[str] = Counter()
        for number in range(6):
            for thread, head in ((1, "0_1"), (2, "1_1"), (3, "0_1"), (4, "0_12"), (0, "-1_1")):
                dumped[head] += execute(host, f"{head}/{number}/0_Layer", number, thread=thread)
    assert dumped == {"0_1": 2, "1_1": 2, "0_12": 2, "-1_1": 2}


def test_executions_of_one_op_on_two_threads_at_a_time(probed: Probed) -> None:
    """Who asks for the before pass first is first; what was granted to one thread is finished there."""
    probed.publish_image(image_of({"next": 1}))
    with probed.caller() as host:
        for thread in (1, 2):
            assert host.call("IsExecuteCountInRange", thread, thread=thread)
            assert host.call("IsSaveTensorInSpecificDir", "0_1/0/0_Layer", thread=thread)
        assert host.call("IsSaveTensorBefore", thread=2)
        assert not host.call("IsSaveTensorBefore", thread=1)
        assert end(host, "0_1/0/0_Layer", 1, thread=1) == (False, False)
        assert end(host, "0_1/0/0_Layer", 2, thread=2) == (True, True)


def test_what_is_refused_by_path_is_not_counted(probed: Probed) -> None:
    probed.publish_image(image_of({"next": 1, "ids": "0", "device": "0"}))
    with probed.caller() as host:
        assert rounds_of(host, OTHER, range(3)) == []
        assert rounds_of(host, "1_1/{count}/0_Layer", range(3)) == []
        assert rounds_of(host, LAYER, range(3, 6)) == [3]


def test_the_before_pass_asked_for_twice_is_one_execution(probed: Probed) -> None:
    probed.publish_image(image_of({"next": 2}))
    with probed.caller() as host:
        for number in (0, 1):
            for kernel in (False, True, False):
                assert begin(host, LAYER.format(count=number), number, kernel=kernel)
            assert end(host, LAYER.format(count=number), number) == (True, True)
        assert rounds_of(host, LAYER, range(2, 4)) == []


def test_layers_and_what_is_below_them_count_for_themselves(probed: Probed) -> None:
    """Rules that are taken while a layer runs take what is left of it, and what was missed the next time."""
    probed.publish_image(image_of(NOTHING))
    dumped: Counter[str] = Counter()
    with probed.caller() as host:
        for number in range(3):
            layer, first, second = (f"0_1/{number}/0_Layer{below}" for below in ("", "/0_Op", "/1_Op"))
            before = begin(host, layer, number)
            dumped["first"] += execute(host, first, number)
            if number == 0:
                probed.publish_image(image_of({"next": 1, "save_child": True}))
            dumped["second"] += execute(host, second, number)
            assert end(host, layer, number) == (before, before)
            dumped["layer"] += before
            assert dumped == {"layer": min(number, 1), "first": min(number, 1), "second": 1}


def test_a_child_of_a_fork_begins_anew(probed: Probed) -> None:
    probed.publish_image(image_of({"next": 2}))
    with probed.caller() as host:
        assert rounds_of(host, LAYER, range(3)) == [0, 1]
        assert host.call("fork") is None
        assert rounds_of(host, LAYER, range(3, 7)) == [3, 4]
        assert executed(host, "0_1/9/0_Layer", range(9, 12), thread=1) == []


def test_rules_with_next_beside_rules_with_rounds(probed: Probed) -> None:
    """16 rules, half of them with each, held against the reference; which of them took an op shows in the hits."""
    source = random.Random(16)
    names = ["Attention", "Mlp", "Layer", ""]
    rules = [
        {
            **({"next": source.randint(1, 4)} if number % 2 else {"exec_range": f"{number % 5},{number % 5 + 2}"}),
            "op_name": source.choice(names),
            "save_child": source.random() < 0.5,
            "task": source.choice(["tensor", "statistics", "all"]),
        }
        for number in range(16)
    ]
    selection = selection_of(*rules)
    paths = ["0_Layer", "0_Layer/0_Attention", "0_Layer/0_Attention/0_Kernel", "1_Layer", "2_Mlp/1_Attention"]
    expected: Counter[int] = Counter()
    probed.publish_image(image_of(*rules))
    with probed.caller() as host:
        earlier: Counter[str] = Counter()
        for number in range(8):
            for path in source.sample(paths, 4):
                decision = decide(selection, number, f"0_1/0/{path}", earlier[path])
                earlier[path] += 1
                assert execute(host, f"0_1/{number}/{path}", number) == bool(decision.rules), (number, path)
                expected.update(decision.rules)
        with probed.channel() as channel:
            hits = channel.processes(rule_count=len(rules))[0].hits
    assert dict(enumerate(hits, start=1)) == {number: expected[number] for number in range(1, 17)}
    assert len(set(hits)) > 4


@pytest.mark.parametrize("record", ["builtin", "plugin"])
def test_a_swap_at_any_call_takes_every_op_once_and_whole(probed: Probed, record: str) -> None:
    calls = calls_of_step(read_record(record), 1)
    asked = [index for index, call in enumerate(calls) if call["fn"] != "SaveTensor"][::7]
    before, then = image_of(NOTHING), image_of({"next": 1, "save_child": True, "task": "statistics"})
    all_ops = {call["args"]["tensorDir"] for call in calls if call["fn"] == "IsSaveTensorInSpecificDir"}
    with probed.channel() as channel, probed.caller() as host:
        for repeat, swap_at in enumerate(asked):
            channel.publish(before)

            def swap(index: int, swap_at: int = swap_at) -> None:
                if index == swap_at:
                    channel.publish(then)

            first = replay(host, calls, before_call=swap, round_offset=100 * repeat)
            second = replay(host, calls, round_offset=100 * repeat + 1)
            third = replay(host, calls, round_offset=100 * repeat + 2)
            assert all(op.before and op.after for saved in (first, second) for op in saved.values()), swap_at
            assert (len(first) + len(second), len(third)) == (len(all_ops), 0), f"swap before call {swap_at}"


def test_hostile_names(probed: Probed) -> None:
    """An op is told by all bytes of its directory but the count: nothing is cut, joined or taken for something else."""
    awkward = ["", "0", "0_", "_", "..", ".", "%s%n", "0_\udcff", "0_é", "0_Layer ", "0_layer", "0_" + "x" * 5000]
    paths = [*awkward, *(f"{name}/0_a" for name in awkward), "/", "//", "0_a//0_b", "0_a/0_b"]
    probed.publish_image(image_of({"next": 1, "save_child": True}))
    with probed.caller() as host:
        for number in range(3):
            for head in ("0_1", "0_1_", "", "0"):
                for path in paths:
                    directory = f"{head}/{number}/{path}"
                    assert execute(host, directory, number) == (number == 0), directory
        assert execute(host, "0_1/anything at all/0_new", 7)
        assert not execute(host, "0_1//0_new", 8)


def test_more_ops_than_can_be_counted(probed: Probed) -> None:
    """They are not taken, and that is said once; those that were counted go on."""
    big = "x" * (4 << 20)
    probed.publish_image(image_of({"next": 2}))
    with probed.caller() as host:
        first = [execute(host, f"0_1/0/{op}_{big}", 0) for op in range(36)]
        assert execute(host, f"0_1/0/0_{big}", 1)
        assert not execute(host, f"0_1/0/35_{big}", 1)
        messages = host.end()
    assert first == sorted(first, reverse=True)
    assert 25 < sum(first) < 36
    assert messages.count("more operations than rules with next can count") == 1


@pytest.mark.parametrize(("threads", "operations", "repeats"), [(8, 1, 20_000), (4, 100, 500), (4, 100_000, 1)])
def test_many_threads_count_at_a_time(probed: Probed, threads: int, operations: int, repeats: int) -> None:
    """On one op, on a few, and on more of them than the table has buckets."""
    command = [probed.native_file("execution_counts_driver"), *map(str, (threads, operations, repeats))]
    done = subprocess.run(command, capture_output=True, check=True, timeout=WAIT_SECONDS)
    assert json.loads(done.stdout) == {
        "operations": operations,
        "executions": threads * operations * repeats,
        "wrong": 0,
    }


def test_without_next_nothing_is_kept(probed: Probed) -> None:
    """A thousand selected ops cost no memory; with `next` even the table alone can be seen."""

    def size_after(host: ProbeCaller, count: int) -> int:
        for op in range(count):
            assert execute(host, f"0_1/0/{op}_Layer", op)
        return int(Path(f"/proc/{host.pid}/statm").read_text(encoding="ascii").split()[0])

    sizes = {}
    for name, rule in (("none", {"exec_range": "all"}), ("next", {"next": MAX_NUMBER})):
        probed.publish_image(image_of(NOTHING))
        with probed.caller() as host:
            assert not execute(host, "0_1/0/0_Layer", 0)
            at_first = size_after(host, 0)
            probed.publish_image(image_of(rule))
            sizes[name] = (size_after(host, 1) - at_first, size_after(host, 1000) - at_first)
    assert sizes["none"][0] == sizes["none"][1] < sizes["next"][0]


@pytest.mark.parametrize("layer_is_seen", [True, False], ids=["from its beginning", "from within"])
def test_filter_level_holds_for_executions_that_are_taken(probed: Probed, layer_is_seen: bool) -> None:
    """By a rule with next, the layer is selected in its next execution alone; the other rule has no save_child.

    Seen from within, the rest of the first execution is taken, and then the layer's own next one.
    """
    rules = [{"next": 1, "ids": "0", "save_child": True}, {"op_name": "Op"}]
    probed.publish_image(image_of(NOTHING))
    if layer_is_seen:
        probed.publish_image(image_of(*rules, filter_level=1))
    with probed.caller() as host:
        for number in (0, 1):
            layer = f"0_1/{number}/0_Layer"
            before = begin(host, layer, number)
            assert before == (number == (0 if layer_is_seen else 1))
            if number == 0 and not layer_is_seen:
                probed.publish_image(image_of(*rules, filter_level=1))
            for op in ("0_Op", "1_Op"):
                assert begin(host, f"{layer}/{op}", number)
                host.save_tensor(f"{layer}/{op}/before/intensor0.bin", b"\1\2\3\4")
                assert end(host, f"{layer}/{op}", number) == (True, True)
            assert end(host, layer, number) == (before, before)
    references = [len(StoredRound.read(probed.data / f"0_1/{number}").references) for number in (0, 1)]
    assert references == [1, 0 if layer_is_seen else 1]
