"""What is added up over two arrays, by numpy: of two types, or packed ones, for which there is no native loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from atbprobe_rules.compare.metrics import Metrics, metrics_of
from atbprobe_rules.compare.pair_sums import PairSums, SideSums

BLOCK = 8192
"""Elements. Five buffers of doubles lie in the second cache; BLAS starts no threads for so few."""

_ONES = np.ones(BLOCK)

Array = npt.NDArray[Any]


def compare_arrays(golden: Array, target: Array) -> Metrics:
    """Compare two arrays of one shape; ValueError for two shapes."""
    if golden.shape != target.shape:
        raise ValueError(f"shapes {golden.shape} and {target.shape}")
    pair = PairMetrics(golden.dtype, target.dtype)
    pair.add(golden.reshape(-1), target.reshape(-1))
    return pair.result()


def relative_epsilon(dtype: np.dtype[Any]) -> float:
    """What stands for a golden value of zero in a relative error."""
    is_short_float = dtype.kind == "f" and dtype.itemsize <= 4
    is_short_float |= (dtype.kind == "V" and dtype != ml_dtypes.int4) or dtype == np.complex64
    return float(np.finfo(np.float32 if is_short_float else np.float64).eps)


def _same_bytes(golden: Array, target: Array) -> bool:
    """Whether two contiguous one-dimensional arrays of one type have the same bytes, whatever these stand for."""
    size = golden.nbytes
    if size != target.nbytes:
        return False
    whole = size // 8 * 8
    g, t = golden.view(np.uint8), target.view(np.uint8)
    same = np.array_equal(g[:whole].view(np.uint64), t[:whole].view(np.uint64))
    return same and (whole == size or np.array_equal(g[whole:], t[whole:]))


@dataclass(frozen=True)
class _Block:
    """What is added up of one block of one side. A NaN in it makes all four NaN."""

    largest: float
    smallest: float
    sum: float
    squares: float

    @classmethod
    def of(cls, block: npt.NDArray[np.float64]) -> _Block:
        total = float(np.dot(block, _ONES[: block.size]))  # in half the time of sum()
        return cls(float(block.max()), float(block.min()), total, float(np.dot(block, block)))

    def add_to(self, side: SideSums) -> None:
        side.largest = _larger(side.largest, self.largest)
        side.smallest = -_larger(-side.smallest, -self.smallest)
        side.sum += self.sum
        side.squares += self.squares


class _Buffers:
    """What blocks are computed in."""

    def __init__(self) -> None:
        self.golden, self.target = np.empty(BLOCK), np.empty(BLOCK)
        self.difference, self.relative = np.empty(BLOCK), np.empty(BLOCK)
        self.mask = np.empty(BLOCK, bool)


class PairMetrics:
    """The sums, extremes and counts of two tensors so far: `add` their elements in order, then ask for the `result`.

    Both may be of any type that converts to double.
    """

    def __init__(self, golden: np.dtype[Any], target: np.dtype[Any]) -> None:
        self._is_complex = "c" in (golden.kind, target.kind)
        self._one_type = golden == target
        self._epsilon = max(relative_epsilon(golden), relative_epsilon(target))
        self._sums = PairSums()
        self._buffers: _Buffers | None = None

    def add(self, golden: Array, target: Array) -> None:
        """Take the next elements in: as many, one-dimensional, of either side; ValueError otherwise."""
        if golden.ndim != 1 or golden.shape != target.shape:
            raise ValueError(f"elements of shapes {golden.shape} and {target.shape}")
        all_golden, all_target = self._real_elements(golden), self._real_elements(target)
        self._buffers = buffers = self._buffers or _Buffers()
        with np.errstate(all="ignore"):
            for start in range(0, all_golden.size, BLOCK):
                g, t = all_golden[start : start + BLOCK], all_target[start : start + BLOCK]
                if self._one_type and _same_bytes(g, t):
                    self._add_identical(g, buffers)
                else:
                    self._add_different(g, t, buffers)

    def _real_elements(self, elements: Array) -> Array:
        contiguous = np.ascontiguousarray(elements)
        if self._is_complex and contiguous.dtype.kind != "c":
            contiguous = contiguous.astype(np.complex128)
        return contiguous.view(contiguous.real.dtype) if self._is_complex else contiguous

    def _add_identical(self, block: Array, buffers: _Buffers) -> None:
        size = block.size
        g = buffers.golden[:size]
        np.copyto(g, block, casting="unsafe")
        found = _Block.of(g)
        found.add_to(self._sums.golden_side)
        found.add_to(self._sums.target_side)
        if not math.isfinite(found.squares):
            g[~np.isfinite(g)] = 0.0
            found = _Block.of(g)
        self._sums.golden_squares += found.squares
        self._sums.target_squares += found.squares
        self._sums.product += found.squares
        self._sums.magnitude = max(self._sums.magnitude, found.largest, -found.smallest)
        self._count(size, size, size)

    def _add_different(self, golden: Array, target: Array, buffers: _Buffers) -> None:
        self._sums.differing_blocks += 1
        size = golden.size
        g, t = buffers.golden[:size], buffers.target[:size]
        np.copyto(g, golden, casting="unsafe")
        np.copyto(t, target, casting="unsafe")
        found, other = _Block.of(g), _Block.of(t)
        found.add_to(self._sums.golden_side)
        other.add_to(self._sums.target_side)
        mismatches = 0
        if not math.isfinite(found.squares + other.squares):
            mismatches = _take_out_the_infinite(g, t)
            found, other = _Block.of(g), _Block.of(t)
        self._sums.mismatches += mismatches
        self._sums.golden_squares += found.squares
        self._sums.target_squares += other.squares
        self._sums.product += float(np.dot(g, t))
        self._sums.magnitude = max(self._sums.magnitude, found.largest, -found.smallest)
        self._add_differences(g, t, mismatches, buffers)

    def _add_differences(
        self, g: npt.NDArray[np.float64], t: npt.NDArray[np.float64], mismatches: int, buffers: _Buffers
    ) -> None:
        size = g.size
        d, r, mask = buffers.difference[:size], buffers.relative[:size], buffers.mask[:size]
        np.subtract(t, g, out=d)
        self._sums.squared_distance += float(np.dot(d, d))
        np.abs(d, out=d)
        largest = float(d.max())
        if largest == 0.0:  # -0.0 and 0.0, or the same numbers in two types
            self._count(size, size - mismatches, size - mismatches)
            return
        self._sums.largest_absolute = max(self._sums.largest_absolute, largest)
        np.abs(g, out=r)
        if r.min() == 0.0:
            r[r == 0.0] = self._epsilon
        np.divide(d, r, out=r)
        largest = float(r.max())
        self._sums.largest_relative = max(self._sums.largest_relative, largest)
        # What was taken out is there as an equal element; a mismatch must not count as one.
        below_200th = size if largest < 0.005 else int(np.count_nonzero(np.less(r, 0.005, out=mask)))
        below_1000th = size if largest < 0.001 else int(np.count_nonzero(np.less(r, 0.001, out=mask)))
        self._count(size, below_1000th - mismatches, below_200th - mismatches)

    def _count(self, elements: int, below_1000th: int, below_200th: int) -> None:
        self._sums.elements += elements
        self._sums.below_1000th += below_1000th
        self._sums.below_200th += below_200th

    def result(self) -> Metrics:
        """Return what all elements so far come to."""
        return metrics_of(self._sums, is_one_type=self._one_type, is_complex=self._is_complex)


def _take_out_the_infinite(g: npt.NDArray[np.float64], t: npt.NDArray[np.float64]) -> int:
    """Make every element zero that is NaN or infinite on either side; return how many are not the same on both."""
    taken = ~(np.isfinite(g) & np.isfinite(t))
    golden, target = g[taken], t[taken]
    same = (golden == target) | (np.isnan(golden) & np.isnan(target))
    g[taken] = 0.0
    t[taken] = 0.0
    return int(same.size - np.count_nonzero(same))


def _larger(one: float, other: float) -> float:
    """As max(), but a NaN on either side stays."""
    return one if one != one or one > other else other
