"""A fault in each operation of the model in turn: the comparison names that operation, and nothing else arises."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from dumped_model import SMALL, DumpedModel
from probed_host import NativeFile

from atbprobe_rules.compare.comparison import Comparison, compare_dumps
from atbprobe_rules.compare.first_difference import State
from atbprobe_rules.dump.op import Op
from atbprobe_rules.dump.open_dump import open_dump

MODELS = {
    "small, prefill and decode": [*SMALL, "--steps", "2"],
    "plug-ins without names of parameters, bf16": [
        *(*SMALL, "--steps", "2"),
        *("--plugin-operations", "--plain-names", "--dtype", "bf16"),
    ],
    "wider, two layers, one of them bf16": [
        *("--steps", "1", "--layers", "2", "--hidden", "48", "--heads", "4", "--feed-forward", "96"),
        *("--prompt-tokens", "6", "--bf16-layer", "1", "--logits", "f16", "--token-ids", "int32"),
    ],
}
KINDS = ("nan", "scale=1.5", "inf", "scale=-1")


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, native_file: NativeFile
) -> DumpedModel:
    return DumpedModel(tmp_path_factory.mktemp("model"), native_file, list(request.param))


def operations(dump: Path) -> list[Op]:
    """All of a dump's, one of each id path."""
    found = {op.ids: op for one in open_dump(dump).rounds for op in one.walk()}
    return list(found.values())


def compared(golden: Path, target: Path) -> Comparison:
    return compare_dumps(open_dump(golden), open_dump(target))


def named(comparison: Comparison) -> str | None:
    return None if comparison.first is None else comparison.first.place.op


def faults(ops: list[Op]) -> Iterator[tuple[Op, str]]:
    yield from zip(ops, cycle(KINDS), strict=False)


@pytest.mark.slow
def test_the_faulty_operation_is_named(model: DumpedModel) -> None:
    """Kernels, operations, and graphs whose own output is spoilt behind their last child."""
    golden = model.dump()
    assert compared(golden, model.dump()).first is None
    ops = operations(golden)
    assert len(ops) > 30 or "--plugin-operations" in model.model
    wrong = {}
    for op, kind in faults(ops):
        comparison = compared(golden, model.dump("--fault", f"{op.full_name}:{kind}"))
        assert comparison.first is not None, f"{op.full_name}: {kind} was not seen"
        found = comparison.first.found
        if named(comparison) != op.full_name or not found.by_outputs or found.inputs is not State.SAME:
            wrong[op.full_name, kind] = (named(comparison), found)
        arisen = {one.place.op for one in comparison.wrong if one.found.arises_here}
        assert arisen == {op.full_name}
    assert wrong == {}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, native_file: NativeFile) -> DumpedModel:
    return DumpedModel(tmp_path_factory.mktemp("small"), native_file, [*SMALL, "--steps", "1"])


def test_of_outputs_alone_the_faulty_operation_is_named(small: DumpedModel) -> None:
    rules = {"io": "out"}
    golden = small.dump(rules=rules)
    for op, kind in faults(operations(golden)):
        comparison = compared(golden, small.dump("--fault", f"{op.full_name}:{kind}", rules=rules))
        assert named(comparison) == op.full_name, kind
        assert comparison.first is not None
        assert comparison.first.found.inputs is State.UNKNOWN


def test_of_statistics_alone_the_faulty_operation_is_named(small: DumpedModel) -> None:
    rules = {"task": "statistics"}
    golden = small.dump(rules=rules)
    assert not list(golden.rglob("*.bin"))
    for op, kind in faults(operations(golden)):
        comparison = compared(golden, small.dump("--fault", f"{op.full_name}:{kind}", rules=rules))
        assert named(comparison) == op.full_name, kind


def test_of_layers_alone_the_layer_is_named(small: DumpedModel) -> None:
    rules = {"save_child": False}
    everything = operations(small.dump())
    golden = small.dump(rules=rules)
    layers = {op.full_name for op in operations(golden)}
    assert 1 < len(layers) < len(everything)
    for op, kind in faults(everything):
        comparison = compared(golden, small.dump("--fault", f"{op.full_name}:{kind}", rules=rules))
        assert named(comparison) == op.full_name.partition("/")[0], kind


def test_of_kernels_alone_the_kernel_is_named(small: DumpedModel) -> None:
    rules = {"op_name": "*Kernel", "save_child": False}
    golden = small.dump(rules=rules)
    kernels = [op for op in operations(golden) if op.tensors]
    assert len(kernels) > 8
    for op, kind in faults(kernels):
        comparison = compared(golden, small.dump("--fault", f"{op.full_name}:{kind}", rules=rules))
        assert named(comparison) == op.full_name, kind


def test_of_inputs_alone_the_operation_that_the_faulty_one_feeds_is_named(small: DumpedModel) -> None:
    """It is the first whose inputs differ, and it is fed by what nobody has seen."""
    rules = {"io": "in"}
    golden = small.dump(rules=rules)
    after = {
        "1_Prefill_layer/0_RmsNormOperation": "1_Prefill_layer/1_Attention",
        "1_Prefill_layer/1_Attention/0_LinearOperation": "1_Prefill_layer/1_Attention/3_FusionAttention",
        "1_Prefill_layer/1_Attention/4_LinearOperation": "1_Prefill_layer/2_ElewiseOperation",
        "1_Prefill_layer/5_ElewiseOperation": "2_RmsNormOperation",
    }
    for faulty, fed in after.items():
        comparison = compared(golden, small.dump("--fault", f"{faulty}:scale=2", rules=rules))
        assert named(comparison) == fed
        assert comparison.first is not None
        assert not comparison.first.found.by_outputs


def test_a_fault_from_a_later_round_on_is_found_in_that_round(small: DumpedModel) -> None:
    steps = ("--steps", "4")
    golden = small.dump(*steps)
    [op] = [op for op in operations(golden) if op.ids.count("_") == 1 and op.names == "Decoder_layer/ElewiseOperation"][
        :1
    ]
    comparison = compared(golden, small.dump(*steps, "--fault", f"{op.full_name}:scale=3@1"))
    assert comparison.first is not None
    assert (named(comparison), comparison.first.place.round) == (op.full_name, "1")


def test_what_feeds_it_is_told(small: DumpedModel) -> None:
    golden = small.dump()
    comparison = compared(golden, small.dump("--fault", "1_Prefill_layer/2_ElewiseOperation:scale=1.5"))
    assert comparison.first is not None
    sources = [feed.source.op.partition("/")[2] if feed.source else None for feed in comparison.first.fed_by]
    embedding, attention = comparison.first.fed_by
    assert sources[1] == "1_Attention"
    assert embedding.source is not None
    assert embedding.source.op.endswith("WordEmbedding")
    assert attention.verdict is not None
    assert attention.verdict.equal


def test_a_dump_of_another_process_of_another_device_is_the_same(small: DumpedModel) -> None:
    golden = small.dump("--device", "0")
    target = small.dump("--device", "5", "--plain-names")
    comparison = compared(golden, target)
    assert (comparison.first, comparison.is_incomplete) == (None, False)
    assert len(comparison.tensors) == sum(1 for _ in open_dump(golden).tensors)
