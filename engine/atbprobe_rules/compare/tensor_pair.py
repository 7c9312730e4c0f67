"""One tensor of golden and its counterpart: from their files, or from their statistics, to a verdict.

What goes in and comes out can be pickled, so that it can be done in another process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from atbprobe_rules.compare.metrics import Metrics, PairMetrics
from atbprobe_rules.compare.side_statistics import NO_STATISTICS, SideStatistics, statistics_of_row
from atbprobe_rules.compare.thresholds import Thresholds, statistics_violations, violations
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.op import StoredTensor
from atbprobe_rules.dump.tensor import Tensor

BLOCK_BYTES = 256 << 10
"""Of each side at a time: what has been read is still in the cache when it is compared."""


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
    """Where a tensor can be had from: its .bin, or its row in statistic.csv. `shape` is None if it is not known."""

    path: Path | None
    round_folder: Path
    statistics: SideStatistics
    dtype: str
    shape: tuple[int, ...] | None
    is_missing: bool = False  # the row tells of a .bin, and there is none
    coarsest: str = ""  # of the types of its round; see Thresholds.of

    @classmethod
    def of(cls, tensor: StoredTensor, coarsest: str = "") -> TensorSource:
        row = tensor.row
        dtype, shape = ("", None) if row is None else (row.dtype, row.shape)
        path = None if tensor.path is None else tensor.path.absolute()
        return cls(
            path, tensor.op.round.path.absolute(), statistics_of_row(row), dtype, shape, tensor.is_missing, coarsest
        )

    @property
    def is_known(self) -> bool:
        return self.path is not None or self.statistics != NO_STATISTICS

    def open(self) -> Tensor:
        assert self.path is not None
        return Tensor.open(self.path, round_folder=self.round_folder, follow_link=False)


@dataclass(frozen=True)
class SideOutcome:
    """What one side turned out to be."""

    dtype: str
    shape: tuple[int, ...] | None
    statistics: SideStatistics


@dataclass(frozen=True)
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


def compare_pair(golden: TensorSource, target: TensorSource, thresholds: Thresholds) -> PairOutcome:
    """Compare two tensors. Never raises on account of files: a damaged one is a verdict."""
    try:
        if golden.path is not None and target.path is not None:
            return _compare_data(golden.open(), target.open(), thresholds, golden, target)
        return _compare_statistics(golden, target, thresholds)
    except (DumpError, OSError) as error:
        return PairOutcome(Verdict.UNREADABLE, (str(error),), _as_listed(golden), _as_listed(target))


def _compare_data(
    golden: Tensor, target: Tensor, thresholds: Thresholds, golden_source: TensorSource, target_source: TensorSource
) -> PairOutcome:
    metrics: Metrics | None = None
    reasons: tuple[str, ...] = ()
    identical = False
    if golden.shape != target.shape:
        reasons = (f"shape {_text(golden.shape)} became {_text(target.shape)}",)
    elif not (golden.element_type.is_readable and target.element_type.is_readable):
        reasons = _compare_bytes(golden, target)
        identical = not reasons
    elif golden.dtype == target.dtype and golden.nbytes != target.nbytes:
        reasons = (f"{golden.nbytes:,} bytes of data became {target.nbytes:,}",)
    else:
        metrics = _measure(golden, target)
        identical = metrics.identical
        limits = thresholds.of(golden.dtype, target.dtype, golden_source.coarsest)
        reasons = violations(metrics, limits, integers=_is_integer(golden.dtype))
    verdict = Verdict.DIFFERS if reasons else Verdict.IDENTICAL if identical else Verdict.EQUAL
    one = _outcome(golden, golden_source, None if metrics is None else metrics.golden)
    other = _outcome(target, target_source, None if metrics is None else metrics.target)
    return PairOutcome(verdict, reasons, one, other, metrics)


def _measure(golden: Tensor, target: Tensor) -> Metrics:
    for tensor in (golden, target):
        if tensor.nbytes * 8 < tensor.size * tensor.element_type.bits:
            shape = f"{_text(tensor.shape)} elements of type {tensor.dtype}"
            raise DumpError(tensor.path, f"{tensor.nbytes:,} bytes of data do not suffice for {shape}")
    pair = PairMetrics(golden.element_type.array_dtype, target.element_type.array_dtype)
    if golden.dtype == target.dtype:
        for part, counterpart in zip(golden.blocks(BLOCK_BYTES), target.blocks(BLOCK_BYTES), strict=True):
            pair.add(part, counterpart)
    else:  # blocks of two types do not end at the same elements
        pair.add(golden.array.reshape(-1), target.array.reshape(-1))
    return pair.result()


def _compare_bytes(golden: Tensor, target: Tensor) -> tuple[str, ...]:
    """Of a type that cannot be decoded: in what they differ."""
    if golden.dtype != target.dtype:
        return (f"dtype {golden.dtype} became {target.dtype}",)
    if golden.nbytes == target.nbytes and np.array_equal(golden.stored, target.stored):
        return ()
    return ("the bytes differ, of a type that is not decoded",)


def _compare_statistics(golden: TensorSource, target: TensorSource, thresholds: Thresholds) -> PairOutcome:
    sides = [_with_statistics(golden), _with_statistics(target)]
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


def _with_statistics(source: TensorSource) -> SideOutcome:
    """The statistics from the row, else from the data."""
    if source.path is None or source.statistics != NO_STATISTICS:
        return _as_listed(source)
    tensor = source.open()
    if not tensor.element_type.is_readable:
        return SideOutcome(tensor.dtype, tensor.shape, NO_STATISTICS)
    return SideOutcome(tensor.dtype, tensor.shape, _measure(tensor, tensor).golden)


def _outcome(tensor: Tensor, source: TensorSource, found: SideStatistics | None) -> SideOutcome:
    """Extremes of complex numbers are not computed here, but statistic.csv has them."""
    listed = found is None or (found.max is None and source.statistics.max is not None)
    return SideOutcome(tensor.dtype, tensor.shape, source.statistics if listed or found is None else found)


def _as_listed(source: TensorSource) -> SideOutcome:
    return SideOutcome(source.dtype, source.shape, source.statistics)


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool"))


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
