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
class TensorSource:
    """A tensor of one side; `coarsest` is the coarsest of the types of its round, as Thresholds.of takes it."""

    tensor: StoredTensor
    coarsest: str = ""

    @property
    def has_data(self) -> bool:
        return self.tensor.file is not None

    @property
    def is_missing(self) -> bool:
        """Whether the row tells of a .bin, and there is none."""
        return self.tensor.is_missing

    @property
    def is_known(self) -> bool:
        return self.has_data or self.statistics != NO_STATISTICS

    @property
    def statistics(self) -> SideStatistics:
        return statistics_of_row(self.tensor.row)

    @property
    def as_listed(self) -> SideOutcome:
        """What its row says."""
        row = self.tensor.row
        dtype, shape = ("", None) if row is None else (row.dtype, row.shape)
        return SideOutcome(dtype, shape, self.statistics)


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


Pair = tuple[TensorSource, TensorSource]


def compare_pairs(
    pairs: Sequence[Pair], thresholds: Thresholds, cancelled: Cancelled = lambda: False
) -> list[PairOutcome]:
    """Compare tensors of golden and of target. Never raises on account of files: a damaged one is a verdict.

    CancelledError once `cancelled` says so; it is asked now and then.
    """
    files = [(golden.tensor.file, target.tensor.file) for golden, target in pairs]
    small = iter(add_small_files([(one, other) for one, other in files if one is not None and other is not None]))
    return [
        _compare(*pair, thresholds, cancelled, next(small) if None not in of_pair else None)
        for pair, of_pair in zip(pairs, files, strict=True)
    ]


def _compare(
    golden: TensorSource, target: TensorSource, thresholds: Thresholds, cancelled: Cancelled, small: SmallPair | None
) -> PairOutcome:
    try:
        if small is not None and all(
            source.tensor.is_told_as(small.element_type.name, small.shape) for source in (golden, target)
        ):
            return _judge_small(golden, target, thresholds, small)
        if golden.has_data and target.has_data:
            return _compare_files(golden, target, thresholds, cancelled)
        return _compare_statistics(golden, target, thresholds, cancelled)
    except (DumpError, OSError) as error:
        return PairOutcome(Verdict.UNREADABLE, (str(error),), golden.as_listed, target.as_listed)


def _judge_small(golden: TensorSource, target: TensorSource, thresholds: Thresholds, small: SmallPair) -> PairOutcome:
    element_type, shape, sums = small
    metrics = metrics_of(sums, is_one_type=True, is_complex=element_type.is_complex)
    limits = thresholds.of(element_type.name, element_type.name, golden.coarsest)
    reasons = violations(metrics, limits, integers=element_type.is_integer)
    one = SideOutcome(element_type.name, shape, _best_statistics(metrics.golden, golden))
    other = SideOutcome(element_type.name, shape, _best_statistics(metrics.target, target))
    return PairOutcome(_verdict(reasons, metrics.identical), reasons, one, other, metrics)


def _compare_files(
    golden_source: TensorSource, target_source: TensorSource, thresholds: Thresholds, cancelled: Cancelled
) -> PairOutcome:
    golden, target = golden_source.tensor.open_file(), target_source.tensor.open_file()
    metrics: Metrics | None = None
    reasons: tuple[str, ...] = ()
    identical = False
    if golden.shape != target.shape:
        reasons = (f"shape {_text(golden.shape)} became {_text(target.shape)}",)
    elif not (golden.element_type.is_readable and target.element_type.is_readable):
        reasons = _compare_bytes(golden, target, cancelled)
        identical = not reasons
    elif golden.dtype == target.dtype and golden.nbytes != target.nbytes:
        reasons = (f"{golden.nbytes:,} bytes of data became {target.nbytes:,}",)
    else:
        metrics = _measure(golden, target, cancelled)
        identical = metrics.identical
        limits = thresholds.of(golden.dtype, target.dtype, golden_source.coarsest)
        # Of two types nothing is said beyond the values as doubles.
        integers = golden.element_type.is_integer and golden.dtype == target.dtype
        reasons = violations(metrics, limits, integers=integers)
    one = _outcome(golden, golden_source, None if metrics is None else metrics.golden)
    other = _outcome(target, target_source, None if metrics is None else metrics.target)
    return PairOutcome(_verdict(reasons, identical), reasons, one, other, metrics)


def _verdict(reasons: tuple[str, ...], identical: bool) -> Verdict:
    return Verdict.DIFFERS if reasons else Verdict.IDENTICAL if identical else Verdict.EQUAL


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


def _compare_statistics(
    golden: TensorSource, target: TensorSource, thresholds: Thresholds, cancelled: Cancelled
) -> PairOutcome:
    sides = [_with_statistics(golden, cancelled), _with_statistics(target, cancelled)]
    one, other = sides
    if one.shape is not None and other.shape is not None and one.shape != other.shape:
        reasons: tuple[str, ...] | None = (f"shape {_text(one.shape)} became {_text(other.shape)}",)
    else:
        elements = math.prod(one.shape or other.shape or ())
        limits = thresholds.of(one.dtype, other.dtype, golden.coarsest)
        reasons = statistics_violations(one.statistics, other.statistics, elements, limits)
    if reasons is None:
        if one.shape is not None and one.shape == other.shape and 0 in one.shape:
            return PairOutcome(Verdict.IDENTICAL, (), one, other)
        reasons = ("neither data nor statistics on both sides",)
        verdict = Verdict.UNKNOWN
    else:
        verdict = Verdict.DIFFERS if reasons else Verdict.EQUAL
    missing = [name for name, source in (("golden", golden), ("target", target)) if source.is_missing]
    if missing and verdict is not Verdict.DIFFERS:
        verdict, reasons = Verdict.UNREADABLE, (f"the .bin of {' and '.join(missing)} is not there",)
    return PairOutcome(verdict, reasons, one, other)


def _with_statistics(source: TensorSource, cancelled: Cancelled) -> SideOutcome:
    """The statistics from the row, else from the data."""
    if not source.has_data or source.statistics != NO_STATISTICS:
        return source.as_listed
    tensor = source.tensor.open_file()
    if not tensor.element_type.is_readable:
        return SideOutcome(tensor.dtype, tensor.shape, NO_STATISTICS)
    return SideOutcome(tensor.dtype, tensor.shape, _measure(tensor, tensor, cancelled).golden)


def _outcome(tensor: TensorFile, source: TensorSource, found: SideStatistics | None) -> SideOutcome:
    statistics = source.statistics if found is None else _best_statistics(found, source)
    return SideOutcome(tensor.dtype, tensor.shape, statistics)


def _best_statistics(found: SideStatistics, source: TensorSource) -> SideStatistics:
    """Extremes of complex numbers are not computed here, but statistic.csv has them."""
    if found.max is None and source.statistics.max is not None:
        return source.statistics
    return found


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
