"""Pairs of tensors from files and rows: types, shapes, hostile files, and the threads that compare them."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from atbprobe_rules.compare import workers
from atbprobe_rules.compare.comparison import Comparison, compare_dumps
from atbprobe_rules.compare.native_loop import CancelledError
from atbprobe_rules.compare.tensor_pair import Pair, PairOutcome, Verdict, compare_pairs
from atbprobe_rules.compare.thresholds import Thresholds
from atbprobe_rules.compare.workers import PairComparer
from atbprobe_rules.dump.open_dump import open_dump
from dump_files import STATISTIC_HEADER, bin_file, put, reference_file

FILE = "after/outtensor0.bin"


def pair_of(folder: Path, golden: bytes, target: bytes) -> Pair:
    for side, content in (("golden", golden), ("target", target)):
        put(folder / side / "0/2_A" / FILE, content)
    return pair_in(folder)


def pair_in(folder: Path) -> Pair:
    """The only tensor of each side."""
    [golden], [target] = (next(open_dump(folder / side / "0").rounds).tensors for side in ("golden", "target"))
    return Pair(golden, target)


def outcome(folder: Path, golden: bytes, target: bytes, *settings: str) -> PairOutcome:
    [found] = compare_pairs([pair_of(folder, golden, target)], Thresholds(settings))
    return found


def stored(values: Any, dtype: Any, number: int) -> bytes:
    array = np.asarray(values).astype(dtype)
    return bin_file(array.tobytes(), number, ",".join(map(str, array.shape)))


@pytest.mark.parametrize(
    ("dtype", "number", "name"),
    [
        (np.float32, 0, "float"),
        (np.float16, 1, "float16"),
        (ml_dtypes.bfloat16, 27, "bf16"),
        (np.float64, 11, "double"),
        (np.complex64, 16, "complex64"),
        (ml_dtypes.float8_e5m2, 35, "float8_e5m2"),
        (np.int64, 9, "int64"),
        (np.uint8, 4, "uint8"),
        (np.int8, 2, "int8"),
    ],
)
def test_types(tmp_path: Path, dtype: Any, number: int, name: str) -> None:
    values = np.arange(1, 101).reshape(4, 25)
    same = outcome(tmp_path / "same", stored(values, dtype, number), stored(values, dtype, number))
    assert (same.verdict, same.golden.dtype, same.target.shape) == (Verdict.IDENTICAL, name, (4, 25))
    other = np.where(values == 7, 100, values)
    differs = outcome(tmp_path / "other", stored(values, dtype, number), stored(other, dtype, number))
    assert differs.verdict is Verdict.DIFFERS
    assert differs.metrics is not None
    assert differs.metrics.max_absolute_error == abs(float(np.array(100, dtype).real) - float(np.array(7, dtype).real))


def test_packed_and_small_types(tmp_path: Path) -> None:
    int4 = bin_file(bytes([0x21, 0x43]), 29, "4")
    assert outcome(tmp_path / "a", int4, bin_file(bytes([0x22, 0x43]), 29, "4")).verdict is Verdict.EQUAL  # one off
    differs = outcome(tmp_path / "b", int4, bin_file(bytes([0x24, 0x43]), 29, "4"))
    assert (differs.verdict, differs.reasons[0]) == (Verdict.DIFFERS, "absolute 3 above 1")


def test_two_types_of_one_tensor(tmp_path: Path) -> None:
    values = np.linspace(-3, 3, 70_000)
    found = outcome(tmp_path, stored(values, np.float32, 0), stored(values, ml_dtypes.bfloat16, 27))
    assert (found.verdict, found.golden.dtype, found.target.dtype) == (Verdict.EQUAL, "float", "bf16")
    assert found.metrics is not None
    assert 1e-4 < (found.metrics.relative_distance or 0) < 2e-2


def test_a_shape_that_differs(tmp_path: Path) -> None:
    found = outcome(tmp_path, stored(np.ones((2, 3)), np.float32, 0), stored(np.ones((3, 2)), np.float32, 0))
    assert (found.verdict, found.reasons) == (Verdict.DIFFERS, ("shape 2x3 became 3x2",))


def test_bytes_of_types_that_are_not_decoded(tmp_path: Path) -> None:
    text = [bin_file(content, 13, "3") for content in (b"abc", b"abd")]
    assert outcome(tmp_path / "a", text[0], text[0]).verdict is Verdict.IDENTICAL
    assert outcome(tmp_path / "b", *text).verdict is Verdict.DIFFERS
    assert outcome(tmp_path / "c", text[0], bin_file(b"abc", 99, "3")).reasons == ("dtype string became undefined(99)",)


def test_scalars_and_empty_tensors(tmp_path: Path) -> None:
    one, other = (bin_file(np.float32(value).tobytes(), 0, "") for value in (1, 2))
    assert outcome(tmp_path / "a", one, other).verdict is Verdict.DIFFERS
    empty = bin_file(b"", 1, "0,128")
    assert outcome(tmp_path / "b", empty, empty).verdict is Verdict.IDENTICAL


def test_more_than_one_block(tmp_path: Path) -> None:
    values = np.ones(300_000, np.float32)
    other = values.copy()
    other[-1] = 3
    found = outcome(tmp_path, stored(values, np.float32, 0), stored(other, np.float32, 0))
    assert (found.verdict, found.reasons) == (Verdict.DIFFERS, ("distance 0.00365 above 0.0001", "peak 2 above 0.001"))


@pytest.mark.parametrize(
    "content",
    [
        reference_file("2_outtensor0.bin"),
        reference_file("9_outtensor0.bin"),
        bin_file(b"1234", 0, "99999999999"),
        bin_file(b"123", 0, "1"),
        b"",
    ],
    ids=["refers to itself", "refers to nothing", "a huge shape", "a broken element", "empty"],
)
def test_what_cannot_be_read_is_a_verdict(tmp_path: Path, content: bytes) -> None:
    found = outcome(tmp_path, content, content)
    assert found.verdict is Verdict.UNREADABLE
    assert FILE in found.reasons[0]


def rows(*tensors: tuple[str, str, str]) -> str:
    """(index, dtype, statistics) of outputs of 2_A."""
    lines = [f"0_1,0,A,A,2,output,{index},{dtype},nd,4,{statistics},N/A\n" for index, dtype, statistics in tensors]
    return STATISTIC_HEADER + "".join(lines)


def statistics_compared(folder: Path, golden: str, target: str) -> Comparison:
    for side, content in (("golden", golden), ("target", target)):
        put(folder / side / "0_1/0/statistic.csv", content)
    return compare_dumps(open_dump(folder / "golden/0_1"), open_dump(folder / "target/0_1"))


def test_statistics_alone(tmp_path: Path) -> None:
    golden = rows(
        ("0", "float", "1,-1,0,2"), ("1", "float", "nan,nan,nan,nan"), ("2", "complex64", '"(3,4)","(1,0)","(2,2)",9')
    )
    found = statistics_compared(tmp_path / "a", golden, golden)
    assert [tensor.verdict for tensor in found.tensors] == [Verdict.EQUAL] * 3
    target = rows(
        ("0", "float", "1.5,-1,0,2"), ("1", "float", "1,1,1,1"), ("2", "complex64", '"(3,5)","(1,0)","(2,2)",9')
    )
    found = statistics_compared(tmp_path / "b", golden, target)
    assert [tensor.outcome.reasons for tensor in found.tensors] == [
        ("max off by 0.5",),
        ("max off by nan", "min off by nan", "mean off by nan", "norm off by nan"),
        ("max off by 1",),
    ]


def test_tensors_of_which_nothing_was_kept_are_counted_and_not_judged(tmp_path: Path) -> None:
    golden = rows(("0", "float", "1,-1,0,2"), ("1", "float", "N/A,N/A,N/A,N/A"))
    found = statistics_compared(tmp_path / "a", golden, golden)
    assert (len(found.tensors), found.unjudged, found.is_incomplete) == (1, 1, False)
    target = rows(("0", "float", "N/A,N/A,N/A,N/A"), ("1", "float", "N/A,N/A,N/A,N/A"))
    found = statistics_compared(tmp_path / "b", golden, target)
    assert ([tensor.verdict for tensor in found.tensors], found.is_incomplete) == ([Verdict.UNKNOWN], True)


def test_rows_that_are_none_are_problems(tmp_path: Path) -> None:
    golden = rows(("0", "float", "1,-1,0,2"))
    found = statistics_compared(tmp_path, golden, golden + "nonsense\n")
    assert found.is_incomplete
    assert found.problems[0].startswith("target: ")


def many(folder: Path, count: int) -> list[tuple[int, Pair]]:
    content = stored(np.arange(1000), np.float32, 0)
    pair = pair_of(folder, content, content)
    return [(number, pair) for number in range(count)]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_outcomes_come_in_the_order_of_the_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(workers, "BATCH_PAIRS", 3)
    with PairComparer(Thresholds(), threads) as comparer:
        found = list(comparer.outcomes(many(tmp_path, 50)))
    assert [number for number, _, _ in found] == list(range(50))
    assert {outcome.verdict for _, _, outcome in found} == {Verdict.IDENTICAL}


def test_threads_end_with_the_block(tmp_path: Path) -> None:
    """Though there is much left to do."""
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), PairComparer(Thresholds(), 2) as comparer:
        for number, _, _ in comparer.outcomes(many(tmp_path, 5000)):
            if number == 70:
                raise KeyboardInterrupt
    assert threading.active_count() == before


LARGE = {
    "one type": (stored(np.zeros(600_000), np.float32, 0), stored(np.ones(600_000), np.float32, 0)),
    "two types": (stored(np.zeros(600_000), np.float32, 0), stored(np.ones(600_000), np.float16, 1)),
    "packed": (bin_file(bytes(600_000), 29, "1200000"), bin_file(b"\1" * 600_000, 29, "1200000")),
    "not decoded": (bin_file(bytes(600_000), 13, "600000"), bin_file(bytes(599_999) + b"\1", 13, "600000")),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_comparison_that_is_given_up_does_not_go_on(tmp_path: Path, kind: str) -> None:
    with pytest.raises(CancelledError):
        compare_pairs([pair_of(tmp_path, *LARGE[kind])], Thresholds(), lambda: True)


def sparse_file(path: Path, dtype: int, elements: int, bits: int) -> None:
    """A .bin full of zeros, which take no place on the disk."""
    size = elements * bits // 8
    put(path, bin_file(b"", dtype, str(elements)).replace(b"Length=0", b"Length=%d" % size))
    path.write_bytes(path.read_bytes().replace(b"data=0,0", b"data=0,%d" % size))
    os.truncate(path, path.stat().st_size + size)


@pytest.mark.parametrize(
    ("golden", "target"),
    [((0, 32), (0, 32)), ((0, 32), (1, 16)), ((29, 4), (29, 4)), ((13, 8), (13, 8))],
    ids=["one type", "two types", "packed", "not decoded"],
)
def test_no_tensor_is_in_memory_as_a_whole(tmp_path: Path, golden: tuple[int, int], target: tuple[int, int]) -> None:
    elements = 1 << 25
    for side, (dtype, bits) in (("golden", golden), ("target", target)):
        sparse_file(tmp_path / side / "0/2_A" / FILE, dtype, elements, bits)
    pair = pair_in(tmp_path)
    tracemalloc.start()
    try:
        [found] = compare_pairs([pair], Thresholds())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.verdict.equal
    assert peak < 8 << 20


@pytest.mark.parametrize("kind", ["two types", "not decoded"])
def test_a_file_that_is_cut_meanwhile_is_a_verdict(tmp_path: Path, kind: str) -> None:
    pair = pair_of(tmp_path, *LARGE[kind])

    def cut() -> bool:
        os.truncate(tmp_path / "target/0/2_A" / FILE, 1000)
        return False

    [found] = compare_pairs([pair], Thresholds(), cut)
    assert found.verdict is Verdict.UNREADABLE
    assert "cut short" in found.reasons[0]


@pytest.mark.parametrize(
    ("golden", "target"),
    [
        (stored(np.arange(4), np.int32, 3), stored(np.arange(4), np.int64, 9)),
        (stored(np.arange(2), np.bool_, 12), stored(np.arange(2), np.uint8, 4)),
        (bin_file(np.ones(4, np.float16).tobytes(), 33, "2"), stored(np.full(2, 1 + 1j), np.complex64, 16)),
        (bin_file(b"\x05", 30, "8"), stored([1, 0, 1, 0, 0, 0, 0, 0], np.uint8, 4)),
        (bin_file(b"\x08", 34, "1"), stored([1.0], np.float32, 0)),
    ],
    ids=["int32 and int64", "bool and uint8", "complex32 and complex64", "packed and uint8", "hifloat8 and float"],
)
def test_the_same_numbers_of_two_types_are_equal_and_not_identical(
    tmp_path: Path, golden: bytes, target: bytes
) -> None:
    assert outcome(tmp_path, golden, target).verdict is Verdict.EQUAL
