"""Answers to a request to list ops: read whole or refused, and put together into ops."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.listing.ops import KERNEL, OPERATION, ListedTensor, ops_of
from atbprobe_rules.listing.records import (
    END_RECORD_BYTES,
    MAGIC,
    Answer,
    AnswerError,
    AskedOp,
    ListingEnd,
    RawTensor,
    RecordKind,
    ReportedTensors,
    has_end,
    read_answer,
)

HEAD = b"3_77/5/"
LAYER = HEAD + b"2_Prefill_layer"
LINEAR = LAYER + b"/1_Attention/0_LinearOperation"
KERNEL_DIR = LINEAR + b"/0_PpMatMulF16Kernel"


def encode(records: Sequence[AskedOp | ReportedTensors], end: ListingEnd | None = ListingEnd.COMPLETE) -> bytes:
    """Write an answer as a process does."""
    content = b"".join(_record(record) for record in records)
    return MAGIC + content + (b"" if end is None else _framed(RecordKind.END, struct.pack("<I", end)))


def _record(record: AskedOp | ReportedTensors) -> bytes:
    if isinstance(record, AskedOp):
        kind = RecordKind.KERNEL if record.is_kernel else RecordKind.OPERATION
        return _framed(kind, struct.pack("<Q", record.round) + _text(record.dir))
    kind = RecordKind.KERNEL_TENSORS if record.is_kernel else RecordKind.OPERATION_TENSORS
    texts = b"".join(map(_text, (record.dir, record.path, record.name)))
    counts = struct.pack("<II", len(record.inputs), len(record.outputs))
    tensors = b"".join(
        _text(text)
        for tensor in (*record.inputs, *record.outputs)
        for text in (tensor.dtype, tensor.format, tensor.shape)
    )
    return _framed(kind, struct.pack("<Q", record.round) + texts + counts + tensors)


def _framed(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content


def _text(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


texts = st.binary(max_size=12)
numbers = st.integers(0, 2**64 - 1)
tensors = st.lists(st.builds(RawTensor, texts, texts, texts), max_size=3).map(tuple)
records = st.one_of(
    st.builds(AskedOp, st.booleans(), numbers, texts),
    st.builds(ReportedTensors, st.booleans(), numbers, texts, texts, texts, tensors, tensors),
)
answers = st.lists(records, max_size=6)


@given(answers, st.sampled_from([None, *ListingEnd]))
def test_an_answer_reads_as_it_was_written(told: list[AskedOp | ReportedTensors], end: ListingEnd | None) -> None:
    data = encode(told, end)
    assert read_answer(data) == Answer(told, end)
    assert has_end(data[-END_RECORD_BYTES:]) == (end is not None)


@given(answers, st.data())
def test_an_answer_that_breaks_off_has_its_whole_records(
    told: list[AskedOp | ReportedTensors], data: st.DataObject
) -> None:
    whole = encode(told)
    answer = read_answer(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert answer.end is None
    assert answer.records == told[: len(answer.records)]


@given(answers, st.data())
def test_damage_is_refused_or_reads_as_something(told: list[AskedOp | ReportedTensors], data: st.DataObject) -> None:
    damaged = bytearray(encode(told))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        answer = read_answer(bytes(damaged))
    except AnswerError:
        return
    # Whatever it says now, it says it in whole, and ops can be made of it.
    assert encode(answer.records, answer.end) == damaged[: len(encode(answer.records, answer.end))]
    assert len(ops_of(1, answer.records)) <= len(answer.records)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GIF89a..........", "does not begin"),
        (encode([]) + _framed(RecordKind.END, struct.pack("<I", 0)), "behind its end"),
        (MAGIC + _framed(9, b""), "unknown kind, 9"),
        (MAGIC + _framed(RecordKind.END, struct.pack("<I", 77)), "unknown reason, 77"),
        (MAGIC + _framed(RecordKind.OPERATION, struct.pack("<QI", 0, 2**32 - 1)), "shorter"),
        (MAGIC + _framed(RecordKind.OPERATION, struct.pack("<QI", 0, 0) + b"x"), "longer"),
        (
            MAGIC + _framed(RecordKind.KERNEL_TENSORS, struct.pack("<QIIIII", 0, 0, 0, 0, 2**32 - 1, 0)),
            "shorter",
        ),
    ],
)
def test_what_no_process_writes_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(AnswerError, match=reason):
        read_answer(data)


def tensor(dtype: bytes = b"float16", shape: bytes = b"4,16", fmt: bytes = b"nd") -> RawTensor:
    return RawTensor(dtype, fmt, shape)


def test_ops_are_named_by_the_directory_that_was_asked_for() -> None:
    told = [
        AskedOp(False, 7, LAYER),
        AskedOp(False, 7, LINEAR),
        AskedOp(True, 7, KERNEL_DIR),
        ReportedTensors(
            True, 7, KERNEL_DIR, LINEAR + b"/after/intensor0.bin", b"MatMulOperation", (tensor(),), (tensor(),)
        ),
        ReportedTensors(
            False, 7, LINEAR, LINEAR + b"/after/intensor0.bin", b"LinearOperation_2_1_0", (tensor(), tensor()), ()
        ),
    ]
    layer, linear, kernel = ops_of(77, told)
    assert (layer.id_path, layer.name, layer.kind, layer.inputs) == ("2", "Prefill_layer", OPERATION, ())
    assert (linear.id_path, linear.name, linear.kind) == ("2_1_0", "LinearOperation", OPERATION)
    assert (kernel.id_path, kernel.name, kernel.kind) == ("2_1_0_0", "PpMatMulF16Kernel", KERNEL)
    assert (kernel.pid, kernel.device, kernel.round, kernel.dir) == (77, 3, 7, KERNEL_DIR.decode())
    assert kernel.path == "2_Prefill_layer/1_Attention/0_LinearOperation/0_PpMatMulF16Kernel"
    assert [len(op.inputs) for op in (layer, linear, kernel)] == [0, 2, 1]
    assert kernel.inputs[0] == ListedTensor("float16", "nd", (4, 16), 128)


def test_a_kernel_that_was_not_asked_for_goes_by_its_report() -> None:
    told = [
        AskedOp(False, 0, LINEAR),
        ReportedTensors(True, 0, b"", LINEAR + b"/after/intensor0.bin", b"MatMulOperation", (tensor(),), ()),
        ReportedTensors(True, 0, KERNEL_DIR + b"x/0_Other", LINEAR + b"/after", b"CastOperation", (), (tensor(),)),
    ]
    assert [(op.kind, op.name, op.id_path) for op in ops_of(1, told)] == [
        (OPERATION, "LinearOperation", "2_1_0"),
        (KERNEL, "MatMulOperation", "2_1_0"),
        (KERNEL, "CastOperation", "2_1_0"),
    ]


def test_an_operation_goes_by_the_path_of_its_tensors_where_there_is_one() -> None:
    told = [
        ReportedTensors(False, 1, LAYER, LINEAR + b"/before/intensor0.bin", b"LinearOperation_2_1_0", (), (tensor(),)),
        ReportedTensors(False, 1, LAYER, b"", b"Prefill_layer_2", (), ()),
    ]
    assert [op.id_path for op in ops_of(1, told)] == ["2_1_0", "2"]


def test_each_execution_is_an_op_of_its_own() -> None:
    again = HEAD.replace(b"/5/", b"/6/") + b"2_Prefill_layer"
    told = [AskedOp(False, 7, LAYER), AskedOp(False, 7, LAYER), AskedOp(False, 8, again)]
    assert [(op.round, op.dir) for op in ops_of(1, told)] == [(7, LAYER.decode()), (8, again.decode())]


@pytest.mark.parametrize(
    ("raw", "listed"),
    [
        (tensor(b"1", b"3", b"2"), ListedTensor("float16", "nd", (3,), 6)),
        (tensor(b"bf16", b"", b"29"), ListedTensor("bf16", "fractal_nz", (), 2)),
        (tensor(b"int4", b"5"), ListedTensor("int4", "nd", (5,), 3)),
        (tensor(b"undefined", b"3"), ListedTensor("undefined", "nd", (3,), None)),
        (tensor(b"99", b"3", b"99"), ListedTensor("99", "99", (3,), None)),
        (tensor(b"float", b"3,-1"), ListedTensor("float", "nd", None, None)),
        (tensor(b"float", b"9" * 19 + b",2"), ListedTensor("float", "nd", (int("9" * 19), 2), None)),
        (tensor(b"float", b",".join([b"1"] * 65)), ListedTensor("float", "nd", None, None)),
        (tensor(b"float", b"0,8"), ListedTensor("float", "nd", (0, 8), 0)),
    ],
)
def test_tensors_by_number_or_name(raw: RawTensor, listed: ListedTensor) -> None:
    (op,) = ops_of(1, [ReportedTensors(False, 0, LAYER, b"", b"Prefill_layer_2", (raw,), ())])
    assert op.inputs == (listed,)


def test_names_of_any_bytes_stay_what_they_are() -> None:
    odd = HEAD + b"0_\xff\x1b[31m"
    (op,) = ops_of(1, [AskedOp(False, 0, odd)])
    assert op.name.encode("utf-8", "surrogateescape") == b"\xff\x1b[31m"
    (nothing,) = ops_of(1, [AskedOp(False, 0, b"")])
    assert (nothing.id_path, nothing.name, nothing.device) == ("", "", -1)
