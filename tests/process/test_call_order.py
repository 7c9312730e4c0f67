"""The checker of call order: it accepts the real host's records, refuses them altered, and accepts the stand-in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import call_order
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standin_host import RECORDED_SHAPE, StandIn, read_record

TRACES = Path(__file__).parent.parent / "data" / "host_traces"
# Record → what the stand-in has to be told to do the same.
RECORDED_RUNS = {
    "builtin": "--steps 3",
    "builtin_plain_names": "--steps 2 --plain-names",
    "nothing_selected": "--steps 2 --layers 1",
    "plugin": "--steps 2 --plugin-operations",
    "resetup": "--steps 3 --layers 1 --plugin-operations --setups-per-execute 2",
    "two_threads": "--steps 2 --layers 1 --threads 2",
}
# Calls of the model library above ATB, of which the records have none.
TOPOLOGY = ("IsReportModelTopoInfo", "ReportModelTopoInfo")

Record = dict[str, Any]


def trace(name: str) -> list[Record]:
    return read_record(TRACES / f"{name}.jsonl")


def answers_of(name: str) -> str:
    return "nothing" if name == "nothing_selected" else "everything"


@pytest.fixture(params=[0, 1], ids=["abi0", "abi1"])
def standin(request: pytest.FixtureRequest, native_file: Callable[[str], Path]) -> StandIn:
    return StandIn.find(native_file, request.param)


# The checker -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_the_real_hosts_records_are_in_order(name: str) -> None:
    records = trace(name)
    summary = call_order.check(records)
    assert summary.setups == sum(record["fn"] == "ReportOperationStatisticEnable" for record in records)
    assert summary.saved_tensors == sum(record["fn"] == "SaveTensor" for record in records)
    assert summary.executes > 0


def own_neighbours(records: Sequence[Record]) -> dict[int, tuple[int | None, int | None]]:
    """Index of a call → those of the calls before and behind it on its thread."""
    by_thread: dict[int, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        by_thread[record["thr"]].append(index)
    found: dict[int, tuple[int | None, int | None]] = {}
    for indices in by_thread.values():
        for place, index in enumerate(indices):
            before = indices[place - 1] if place else None
            behind = indices[place + 1] if place + 1 < len(indices) else None
            found[index] = (before, behind)
    return found


# Calls whose number is left open: contexts ask IsOverflowCheck "a few times", a cached tiling is asked for or not.
def is_free(records: Sequence[Record], index: int, neighbours: dict[int, tuple[int | None, int | None]]) -> bool:
    before, behind = neighbours[index]
    function = records[index]["fn"]
    if function == "IsOverflowCheck":
        return behind is None or records[behind]["fn"] != "ReportKernelIOTensorEnable"
    return function == "IsSaveTiling" and before is not None and records[before]["fn"] != "IsExecuteCountInRange"


ALTERED_ARGS: dict[str, Callable[[Any], Any]] = {
    "executeCount": lambda count: count + 1,
    "tensorDir": lambda directory: directory + "x",
    "filePath": lambda path: path.replace("/", "/9_", 1),
    "ids": lambda ids: [*ids[:-1], ids[-1] + 1],
    "opType": lambda name: name + "x",
    "opName": lambda name: name + "x",
    "dims": lambda dims: dims + ",2",
    "dtype": lambda dtype: dtype + "0",
    "format": lambda number: number + "?",
    "dataSize": lambda size: size + 1,
    "graph": lambda graph: graph[:-1],
}
# Answers that change what must follow. IsSaveParam does so for built-in operations only, and is left out.
TELLING_ANSWERS = {
    "IsTensorNeedSave",
    "IsSaveTensorDesc",
    "IsExecuteCountInRange",
    "IsSaveTensorInSpecificDir",
    "IsSaveTensorBefore",
    "IsSaveTensorAfter",
    "IsSaveTensorData",
    "ReportOperationGraphEnable",
    "ReportOperationIOTensorEnable",
    "ReportKernelIOTensorEnable",
    "ReportOperationStatisticEnable",
}


def is_overruled(records: Sequence[Record], index: int) -> bool:
    """An answer of a setup that is followed by another setup before anything came of it."""
    record = records[index]
    for later in records[index + 1 :]:
        if later["thr"] == record["thr"] and later["fn"] in (record["fn"], "IsExecuteCountInRange"):
            return bool(later["fn"] == record["fn"] and later["args"] == record["args"])
    return True


def mutations(records: list[Record], index: int, *, contents: bool) -> Iterator[tuple[str, list[Record]]]:
    """Records that differ in one place from a good one, and what was done to them.

    With ``contents`` false only the order is touched: where nothing is dumped, most answers have no consequence.
    """
    neighbours = own_neighbours(records)
    if is_free(records, index, neighbours):
        return
    record = records[index]
    head, tail = records[:index], records[index + 1 :]
    yield "dropped", head + tail
    yield "doubled", [*head, record, record, *tail]
    behind = neighbours[index][1]
    if behind is not None and not is_free(records, behind, neighbours):
        other = records[behind]
        if any(record.get(key) != other.get(key) for key in ("fn", "args", "ret")):
            swapped = list(records)
            swapped[index], swapped[behind] = other, record
            yield "swapped", swapped
    if not contents:
        return
    for name, altered in ALTERED_ARGS.items():
        if name in record["args"]:
            args = record["args"] | {name: altered(record["args"][name])}
            yield f"other {name}", [*head, record | {"args": args}, *tail]
    if record["fn"] in TELLING_ANSWERS and not is_overruled(records, index):
        yield "other answer", [*head, record | {"ret": not record["ret"]}, *tail]


def assert_all_refused(records: list[Record], index: int, *, contents: bool) -> int:
    """Returns how many mutations were tried."""
    tried = 0
    for done, mutated in mutations(records, index, contents=contents):
        tried += 1
        try:
            call_order.check(mutated)
        except call_order.CallOrderError as violation:
            assert str(violation)
        else:
            pytest.fail(f"call {index} ({records[index]['fn']}) was {done}, and nothing noticed")
    return tried


def first_operations(records: list[Record], count: int) -> list[Record]:
    """The record up to where that many layer-level operations have run."""
    ends = [
        index
        for index, record in enumerate(records)
        if record["fn"] in ("IsTensorNeedSave", "ReportOperationGraphEnable")
        and records[index - 1]["fn"] == "ReportOperationIOTensorEnable"
    ]
    return records[: ends[count - 1]]


@pytest.mark.parametrize(
    ("name", "contents"), [("builtin", True), ("plugin", True), ("resetup", True), ("nothing_selected", False)]
)
def test_every_mutation_of_a_short_record_is_noticed(name: str, contents: bool) -> None:
    records = first_operations(trace(name), 1 if contents else 3)
    call_order.check(records)
    tried = sum(assert_all_refused(records, index, contents=contents) for index in range(len(records)))
    assert tried > 2 * len(records) - 10


# Every example parses a whole record, most of them several times.
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_mutations_of_whole_records_are_noticed(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(RECORDED_RUNS)))
    records = trace(name)
    index = data.draw(st.integers(0, len(records) - 1))
    assert_all_refused(records, index, contents=name != "nothing_selected")


def test_a_violation_says_where_and_what() -> None:
    records = trace("builtin")
    place = next(i for i, record in enumerate(records) if record["fn"] == "IsSaveTensorInSpecificDir")
    with pytest.raises(call_order.CallOrderError) as caught:
        call_order.check(records[:place] + records[place + 1 :])
    assert caught.value.record == records[place + 1]
    assert str(caught.value) == (
        f"call {records[place + 1]['seq']} of thread 0, before pass of 0_WordEmbedding: "
        "expected IsSaveTensorInSpecificDir, not IsSaveTensorBefore"
    )


@settings(max_examples=settings().max_examples // 4)
@given(length=st.integers(0, 3836))
def test_a_record_may_break_off_only_if_allowed(length: int) -> None:
    records = trace("builtin")[:length]
    call_order.check(records, complete=False)
    inside_an_operation = bool(records) and records[-1]["fn"] not in (
        "IsOverflowCheck",
        "ReportOperationIOTensorEnable",
        "ReportOperationStatisticEnable",
    )
    if inside_an_operation:
        with pytest.raises(call_order.CallOrderError, match="at the end of the record"):
            call_order.check(records)


# The stand-in ------------------------------------------------------------------------------------------------------


def normalised(records: list[Record]) -> dict[int, list[tuple[str, str, Any]]]:
    """Calls by thread without what must differ between runs: pids, bytes, and which thread drew which id."""
    threads: dict[int, list[tuple[str, str, Any]]] = defaultdict(list)
    layer_numbers: dict[int, dict[str, str]] = defaultdict(dict)
    for record in records:
        if record["fn"] in TOPOLOGY:
            continue
        args = {name: value for name, value in record["args"].items() if name not in ("fnv", "ids")}
        if "ids" in record["args"]:
            args["ids"] = "_".join(map(str, record["args"]["ids"]))
        numbers = layer_numbers[record["thr"]]

        def number_of(match: re.Match[str], numbers: dict[str, str] = numbers) -> str:
            return match["before"] + numbers.setdefault(match["number"], f"#{len(numbers)}")

        texts = {name: value for name, value in args.items() if isinstance(value, str)}
        if "ids" in texts:
            texts["ids"] = re.sub(r"(?P<before>^)(?P<number>\d+)", number_of, texts["ids"])
        for name in ("tensorDir", "filePath"):
            if name in texts:
                texts[name] = re.sub(r"^(-?\d+)_\d+/", r"\1_PID/", texts[name])
                texts[name] = re.sub(r"^(?P<before>[^/]+/\d+/)(?P<number>\d+)", number_of, texts[name])
        for name in ("opName", "graph"):
            if name in texts:
                pattern = r"(?P<before>[A-Za-z]_)(?P<number>\d+)(?=_|\"|$)"
                texts[name] = re.sub(pattern, number_of, texts[name])
        threads[record["thr"]].append((record["fn"], str(record.get("ret")), args | texts))
    return threads


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_the_stand_in_makes_the_very_calls_of_the_real_host(name: str, standin: StandIn, tmp_path: Path) -> None:
    options = [*RECORDED_SHAPE, *RECORDED_RUNS[name].split()]
    records, _ = standin.record(tmp_path / "record.jsonl", answers_of(name), *options)
    ours, theirs = normalised(records), normalised(trace(name))
    assert len(ours) == len(theirs)
    for thread in sorted(theirs):
        for number, (call, recorded) in enumerate(zip(ours[thread], theirs[thread], strict=True)):
            assert call == recorded, f"call {number} of thread {thread}"


RUNS = [
    "",
    "--plain-names",
    "--plugin-operations",
    "--threads 4 --device 0,1",
    "--setups-per-execute 3",
    "--executes-per-setup 2",
    "--execute-on-other-thread",
    "--dtype bf16 --token-ids int32 --request-length 2",
    "--bf16-layer 1 --attention-name Mlp<Silu>:0",
]


@pytest.mark.parametrize("options", RUNS)
@pytest.mark.parametrize("answers", ["everything", "nothing", "yes"])
def test_the_stand_in_calls_in_order(standin: StandIn, options: str, answers: str, tmp_path: Path) -> None:
    chosen = ["--steps", "3", "--layers", "3", *options.split()]
    records, report = standin.record(tmp_path / "record.jsonl", answers, *chosen)
    summary = call_order.check(records)
    assert (summary.setups, summary.executes) == (report["setups"], report["executes"])
    assert summary.saved_tensors == report["device_to_host_copies"]
    assert (summary.saved_tensors > 0) == (answers != "nothing")
    passes = sum(record["fn"] == "IsSaveTensorData" for record in records)
    steps = report["steps"] * report["threads"]
    assert report["stream_synchronisations"] == passes + steps
    assert {name.partition("_")[2] for name in summary.layers} >= {"Prefill_layer", "Decoder_layer"}


def test_a_dumped_round_costs_what_it_costs_on_the_real_host(standin: StandIn, tmp_path: Path) -> None:
    """Two rounds of the two-layer model: 832 copies, 250 synchronisations."""
    options = [*RECORDED_SHAPE, *RECORDED_RUNS["builtin_plain_names"].split()]
    _, report = standin.record(tmp_path / "record.jsonl", "everything", *options)
    assert (report["device_to_host_copies"], report["stream_synchronisations"]) == (832, 250)
