"""One op, one program: whatever is swapped in, and when, no execution of an op is dumped by halves."""

from __future__ import annotations

from typing import Any

import pytest
from probed_host import Probed, image_of
from replay import Saved, calls_of_step, read_record, replay

EVERYTHING: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "save_child": True}
# The same ops, without a file for each tensor: a record is replayed some hundred times.
EVERYTHING_COUNTED = {**EVERYTHING, "task": "statistics"}
NOTHING: dict[str, Any] = {"dump_enable": False}


def whole(saved: dict[tuple[int, str], Saved]) -> bool:
    return all(op.before and op.after for op in saved.values())


def images(probed: Probed, *configs: dict[str, Any]) -> list[bytes]:
    made = []
    for config in configs:
        probed.write(config)
        made.append(image_of(probed.config))
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"), [(NOTHING, EVERYTHING_COUNTED), (EVERYTHING_COUNTED, NOTHING)], ids=["on", "off"]
)
@pytest.mark.parametrize(
    ("record", "step", "every"),
    [
        ("builtin", 1, 1),
        ("builtin_plain_names", 1, 7),
        pytest.param("builtin_plain_names", 1, 1, marks=pytest.mark.soak),
        ("plugin", 1, 1),
        ("resetup", 3, 1),
        ("two_threads", None, 23),
        pytest.param("two_threads", None, 1, marks=pytest.mark.soak),
    ],
)
def test_a_swap_at_any_call_leaves_no_op_half_dumped(
    probed: Probed, record: str, step: int | None, every: int, first: dict[str, Any], then: dict[str, Any]
) -> None:
    """At each call of a step, or at every so many where a record asks the same as another, with other file names.

    Where threads interleave no step stands alone, so it is the whole record.
    """
    calls = read_record(record) if step is None else calls_of_step(read_record(record), step)
    asked = [index for index, call in enumerate(calls) if call["fn"] != "SaveTensor"]
    asked = [*asked[:-1:every], asked[-1]]
    image_first, image_then = images(probed, first, then)
    counts = set()
    probed.publish_image(image_first)
    with probed.channel() as channel, probed.caller() as host:
        params = 0
        for repeat, swap_at in enumerate(asked):
            channel.publish(image_first)

            def swap(index: int, swap_at: int = swap_at) -> None:
                if index == swap_at:
                    channel.publish(image_then)

            saved = replay(host, calls, before_call=swap, round_offset=10 * repeat)
            assert whole(saved), f"swap before call {swap_at}, {calls[swap_at]}: {saved}"
            assert [process.ops_open for process in channel.processes()] == [0], (
                f"swap before call {swap_at}, {calls[swap_at]}"
            )
            counts.add(len(saved))
            params += sum(op.param for op in saved.values())
    all_ops = {call["args"]["tensorDir"] for call in calls if call["fn"] == "IsSaveTensorInSpecificDir"}
    assert {0, len(all_ops)} <= counts, "a swap at the very edge leaves the step as it was"
    assert len(counts) > 5, "swaps in between take part of the step"
    assert (params > 0) == any(call["fn"] == "SaveParam" for call in calls)


@pytest.mark.parametrize("record", ["builtin", "builtin_plain_names", "plugin", "resetup", "two_threads"])
def test_a_whole_record_is_dumped_whole(probed: Probed, record: str) -> None:
    calls = read_record(record)
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        saved = replay(host, calls)

    recorded = [call["args"]["filePath"] for call in calls if call["fn"] == "SaveTensor"]
    kept = {path for path in recorded if "/before/intensor" in path or "/after/outtensor" in path}
    params = {call["args"]["filePath"] for call in calls if call["fn"] == "SaveParam"}
    assert whole(saved)
    assert {path for path in probed.files() if not path.endswith(".csv")} == kept | params


def test_a_host_whose_dumps_are_off_is_asked_for_no_copy(probed: Probed) -> None:
    probed.publish(NOTHING)
    with probed.caller() as host:
        assert replay(host, read_record("nothing_selected")) == {}
        assert replay(host, read_record("builtin")) == {}
    assert not probed.data.exists()


def test_an_op_executed_twice_in_one_directory_begins_twice(probed: Probed) -> None:
    """Setup once, Execute twice: the directory comes again with the next round."""
    directory = "0_1/0/0_WordEmbedding"
    probed.publish({"dump_enable": True, "exec_range": "1,1"})
    with probed.caller() as host:
        answers = []
        for number in (0, 1, 2):
            answers.append(host.call("IsExecuteCountInRange", number))
            if answers[-1]:
                assert host.call("IsSaveTensorInSpecificDir", directory)
                assert host.call("IsSaveTensorBefore")
                assert host.call("IsExecuteCountInRange", number)
                assert host.call("IsSaveTensorInSpecificDir", directory)
                assert host.call("IsSaveTensorAfter")
    assert answers == [False, True, False]


def test_an_after_pass_without_its_before_pass_is_refused(probed: Probed) -> None:
    """Runners ask for the directory first, kernels for the pass first; neither gets an after pass alone."""
    directory = "0_1/0/0_WordEmbedding"
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert host.call("IsExecuteCountInRange", 0)
        assert host.call("IsSaveTensorInSpecificDir", directory)
        assert not host.call("IsSaveTensorAfter")
        assert host.call("IsExecuteCountInRange", 0)
        assert host.call("IsSaveTensorInSpecificDir", directory)
        assert not host.call("IsSaveParam")
        assert host.call("IsExecuteCountInRange", 0)
        assert host.call("IsSaveTensorAfter")
        assert not host.call("IsSaveTensorInSpecificDir", f"{directory}/0_GatherKernel")
        host.save_tensor(f"{directory}/after/outtensor0.bin", b"\0" * 4)
    assert probed.files() == {}
