"""One tensor of golden and its counterpart: from their files, or from their statistics, to a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from atbprobe_rules.compare.metrics import Metrics, metrics_of
from atbprobe_rules.compare.native_loop import CancelledError, SmallPair, add_files, add_small_files, relative_epsilon
from atbprobe_rules.compare.pair_sums import PairSums
from atbprobe_rules.compare.side_statistics import NO_STATISTICS, SideStatistics, statistics_of_row
from atbprobe_rules.compare.thresholds import Thresholds, statistics_violations, violations
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import ElementType
from atbprobe_rules.dump.op import StoredTensor
from atbprobe_rules.dump.tensor_file import TensorFile

Cancelled = Callable[[], bool]

_BLOCK_BYTES = 64 << 10
_BLOCK_ELEMENTS = 1 << 18


class Verdict(Enum):
    """How a pair came out. UNREADABLE: a file is damaged or gone. UNKNOWN: one side has neither data nor statistics."""

    IDENTICAL = "identical"
    EQUAL = "equal"  # within the thresholds
    DIFFERS = "differs"
    UNREADABLE = "unreadable"
    UNKNOWN = "unknown"

    @property
    def equal(self) -> bool | None:
        """None where nothing can be said."""
        if self in (Verdict.UNREADABLE, Verdict.UNKNOWN):
            return None
        return self is not Verdict.DIFFERS


@dataclass(frozen=True)
class Pair:
    """A tensor of golden and its counterpart; `coarsest` is the coarsest type of their round, for Thresholds.of."""

    golden: StoredTensor
    target: StoredTensor
    coarsest: str = ""

    @property
    def sides(self) -> tuple[StoredTensor, StoredTensor]:
        return (self.golden, self.target)

    @property
    def is_known(self) -> bool:
        """Whether there are or were data or statistics of either, without which nothing can be said."""
        return any(
            tensor.file is not None or tensor.is_missing or statistics_of_row(tensor.row) != NO_STATISTICS
            for tensor in self.sides
        )


@dataclass(frozen=True, slots=True)
class SideOutcome:
    """What one side turned out to be."""

    dtype: str
    shape: tuple[int, ...] | None
    statistics: SideStatistics


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """The verdict and what it rests on: `metrics` where both sides have data, else the statistics of the two."""

    verdict: Verdict
    reasons: tuple[str, ...]
    golden: SideOutcome
    target: SideOutcome
    metrics: Metrics | None = None

    @property
    def is_same(self) -> bool:
        """Whether nothing tells the two apart, neither bytes nor, where these are all there is, statistics."""
        if self.metrics is not None or self.verdict is not Verdict.EQUAL:
            return self.verdict is Verdict.IDENTICAL
        return self.golden.statistics == self.target.statistics


def compare_pairs(
    pairs: Sequence[Pair], thresholds: Thresholds, cancelled: Cancelled = lambda: False
) -> list[PairOutcome]:
    """Compare tensors of golden and of target. Never raises on account of files: a damaged one is a verdict.

    CancelledError once `cancelled` says so; it is asked now and then.
    """
    files = [(pair.golden.file, pair.target.file) for pair in pairs]
    small = iter(add_small_files([(one, other) for one, other in files if one is not None and other is not None]))
    return [
        _compare(pair, thresholds, cancelled, None if None in of_pair else next(small))
        for pair, of_pair in zip(pairs, files, strict=True)
    ]


def _compare(pair: Pair, thresholds: Thresholds, cancelled: Cancelled, small: SmallPair | None) -> PairOutcome:
    try:
        if small is not None:
            kind, shape, sums = small
            if all(tensor.is_told_as(kind.name, shape) for tensor in pair.sides):
                metrics = metrics_of(sums, is_one_type=True, is_complex=kind.is_complex)
                return _judged(pair, kind, kind, shape, metrics, thresholds)
        if pair.golden.file is not None and pair.target.file is not None:
            return _compare_files(pair, thresholds, cancelled)
        return _compare_statistics(pair, thresholds, cancelled)
    except (DumpError, OSError) as error:
        return PairOutcome(Verdict.UNREADABLE, (str(error),), _as_listed(pair.golden), _as_listed(pair.target))


def _compare_files(pair: Pair, thresholds: Thresholds, cancelled: Cancelled) -> PairOutcome:
    golden, target = pair.golden.open_file(), pair.target.open_file()
    if golden.shape != target.shape:
        reasons: tuple[str, ...] = (f"shape {_text(golden.shape)} became {_text(target.shape)}",)
    elif not (golden.element_type.is_readable and target.element_type.is_readable):
        reasons = _compare_bytes(golden, target, cancelled)
    elif golden.dtype == target.dtype and golden.nbytes != target.nbytes:
        reasons = (f"{golden.nbytes:,} bytes of data became {target.nbytes:,}",)
    else:
        metrics = _measure(golden, target, cancelled)
        return _judged(pair, golden.element_type, target.element_type, golden.shape, metrics, thresholds)
    one = SideOutcome(golden.dtype, golden.shape, statistics_of_row(pair.golden.row))
    other = SideOutcome(target.dtype, target.shape, statistics_of_row(pair.target.row))
    return PairOutcome(Verdict.DIFFERS if reasons else Verdict.IDENTICAL, reasons, one, other)


def _judged(
    pair: Pair,
    golden_type: ElementType,
    target_type: ElementType,
    shape: tuple[int, ...],
    metrics: Metrics,
    thresholds: Thresholds,
) -> PairOutcome:
    limits = thresholds.of(golden_type.name, target_type.name, pair.coarsest)
    # Of two types nothing is said beyond the values as doubles.
    integers = golden_type.is_integer and golden_type == target_type
    reasons = violations(metrics, limits, integers=integers)
    verdict = Verdict.DIFFERS if reasons else Verdict.IDENTICAL if metrics.identical else Verdict.EQUAL
    one = SideOutcome(golden_type.name, shape, _best_statistics(metrics.golden, pair.golden))
    other = SideOutcome(target_type.name, shape, _best_statistics(metrics.target, pair.target))
    return PairOutcome(verdict, reasons, one, other, metrics)


def _best_statistics(found: SideStatistics, tensor: StoredTensor) -> SideStatistics:
    """Extremes of complex numbers are not computed here, but statistic.csv has them."""
    listed = statistics_of_row(tensor.row)
    return listed if found.max is None and listed.max is not None else found


def _measure(golden: TensorFile, target: TensorFile, cancelled: Cancelled) -> Metrics:
    for tensor in (golden, target):
        if tensor.nbytes * 8 < tensor.size * tensor.element_type.bits:
            shape = f"{_text(tensor.shape)} elements of type {tensor.dtype}"
            raise DumpError(tensor.path, f"{tensor.nbytes:,} bytes of data do not suffice for {shape}")
    is_complex = golden.element_type.is_complex or target.element_type.is_complex
    if golden.dtype == target.dtype:
        sums = PairSums()
        add_files(sums, golden, target, cancelled)
    else:
        sums = _sums_of_two_types(golden, target, is_complex, cancelled)
    return metrics_of(sums, is_one_type=golden.dtype == target.dtype, is_complex=is_complex)


def _sums_of_two_types(golden: TensorFile, target: TensorFile, is_complex: bool, cancelled: Cancelled) -> PairSums:
    from atbprobe_rules.compare.array_sums import ArrayPairSums  # and numpy, which is seldom needed
    from atbprobe_rules.dump.tensor import Tensor

    epsilon = max(relative_epsilon(golden.element_type), relative_epsilon(target.element_type))
    pair = ArrayPairSums(epsilon, is_complex=is_complex)
    tensors = (Tensor.of(golden), Tensor.of(target))
    for tensor in tensors:
        tensor.check_size()
    for block, counterpart in zip(*(tensor.element_blocks(_BLOCK_ELEMENTS) for tensor in tensors), strict=True):
        if cancelled():
            raise CancelledError
        pair.add(block, counterpart)
    return pair.sums


def _compare_bytes(golden: TensorFile, target: TensorFile, cancelled: Cancelled) -> tuple[str, ...]:
    """Of a type that cannot be decoded: in what they differ."""
    if golden.dtype != target.dtype:
        return (f"dtype {golden.dtype} became {target.dtype}",)
    return () if same_bytes(golden, target, cancelled) else ("the bytes differ, of a type that is not decoded",)


def same_bytes(one: TensorFile, other: TensorFile, cancelled: Cancelled = lambda: False) -> bool:
    """Whether two tensors have the same data, whatever it stands for; most are told apart by their beginning."""
    if one.nbytes != other.nbytes:
        return False
    for block, counterpart in zip(one.stored_blocks(_BLOCK_BYTES), other.stored_blocks(_BLOCK_BYTES), strict=True):
        if cancelled():
            raise CancelledError
        if block != counterpart:
            return False
    return True


def _compare_statistics(pair: Pair, thresholds: Thresholds, cancelled: Cancelled) -> PairOutcome:
    one, other = (_with_statistics(tensor, cancelled) for tensor in pair.sides)
    if one.shape is not None and other.shape is not None and one.shape != other.shape:
        reasons: tuple[str, ...] | None = (f"shape {_text(one.shape)} became {_text(other.shape)}",)
    else:
        elements = math.prod(one.shape or other.shape or ())
        limits = thresholds.of(one.dtype, other.dtype, pair.coarsest)
        reasons = statistics_violations(one.statistics, other.statistics, elements, limits)
    if reasons is None:
        if one.shape is not None and one.shape == other.shape and 0 in one.shape:
            return PairOutcome(Verdict.IDENTICAL, (), one, other)
        reasons = ("neither data nor statistics on both sides",)
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.DIFFERS if reasons else Verdict.EQUAL
    missing = [name for name, tensor in zip(("golden", "target"), pair.sides, strict=True) if tensor.is_missing]
    if missing and verdict is not Verdict.DIFFERS:
        verdict, reasons = Verdict.UNREADABLE, (f"the .bin of {' and '.join(missing)} is not there",)
    return PairOutcome(verdict, reasons, one, other)


def _with_statistics(tensor: StoredTensor, cancelled: Cancelled) -> SideOutcome:
    """The statistics from the row, else from the data."""
    listed = _as_listed(tensor)
    if tensor.file is None or listed.statistics != NO_STATISTICS:
        return listed
    file = tensor.open_file()
    if not file.element_type.is_readable:
        return SideOutcome(file.dtype, file.shape, NO_STATISTICS)
    return SideOutcome(file.dtype, file.shape, _measure(file, file, cancelled).golden)


def _as_listed(tensor: StoredTensor) -> SideOutcome:
    """What its row says."""
    row = tensor.row
    dtype, shape = ("", None) if row is None else (row.dtype, row.shape)
    return SideOutcome(dtype, shape, statistics_of_row(row))


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
