"""How far two tensors are apart, in double, in one pass over blocks that stay in the cache.

Every block is converted to double and its sums, extremes and counts are added up; nothing as large as a tensor is ever
made. Blocks whose bytes are equal, by far the most of two runs of one model, cost the statistics of one side only.

NaN and infinities are compared by their places: where both sides have the same one, the element is taken out of the
sums and counts as equal; where they do not, it is a mismatch, counts as beyond every share, and the metrics are those
of the other elements.

The definitions are those of the published `msprobe compare -m atb`:

    cosine              <t, g> / (|t| |g|); 1 if both norms are at most the epsilon of double, none if one is
    euclidean_distance  |t - g|
    max_relative_error  of |t - g| / |g|; where g is 0, |t| / epsilon
    within_1000th       share of elements whose relative error is below 1/1000, within_200th: below 5/1000

with epsilon that of float for types of up to 32 bits that are no integers, else that of double. Where it computes the
relative errors in float, they are computed in double here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from atbprobe_rules.compare.side_statistics import NO_STATISTICS, SideStatistics

BLOCK = 8192
"""Elements. Five buffers of doubles lie in the second cache; BLAS starts no threads for so few."""

_ONES = np.ones(BLOCK)
_NORM_EPSILON = float(np.finfo(np.float64).eps)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Metrics:
    """Golden against target. `largest` is the largest finite magnitude in golden, the scale of `max_absolute_error`.

    Complex numbers count as two real elements each. None: not defined (cosine with one zero vector, no element).
    """

    elements: int
    identical: bool  # to the bit
    mismatches: int  # elements where one side is NaN or an infinity and the other is not the same
    cosine: float | None
    euclidean_distance: float | None
    max_absolute_error: float | None
    max_relative_error: float | None
    within_1000th: float | None
    within_200th: float | None
    golden_norm: float  # of the elements that were compared
    largest: float
    golden: SideStatistics
    target: SideStatistics

    @property
    def relative_distance(self) -> float | None:
        """The Euclidean distance in terms of golden's norm; infinite where golden is zero and target is not."""
        return None if self.euclidean_distance is None else _ratio(self.euclidean_distance, self.golden_norm)

    @property
    def peak_error(self) -> float | None:
        """The largest absolute error in terms of golden's largest magnitude; infinite likewise."""
        return None if self.max_absolute_error is None else _ratio(self.max_absolute_error, self.largest)


def compare_arrays(golden: Array, target: Array) -> Metrics:
    """Compare two arrays of one shape; ValueError for two shapes."""
    if golden.shape != target.shape:
        raise ValueError(f"shapes {golden.shape} and {target.shape}")
    pair = PairMetrics(golden.dtype, target.dtype)
    pair.add(golden.reshape(-1), target.reshape(-1))
    return pair.result()


def relative_epsilon(dtype: np.dtype[Any]) -> float:
    """What stands for a golden value of zero in a relative error."""
    is_short_float = (dtype.kind == "f" and dtype.itemsize <= 4) or dtype.kind == "V" or dtype == np.complex64
    return float(np.finfo(np.float32 if is_short_float else np.float64).eps)


def same_bytes(golden: Array, target: Array) -> bool:
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


class _Side:
    """The same of all blocks so far."""

    def __init__(self) -> None:
        self.largest = -math.inf
        self.smallest = math.inf
        self.sum = 0.0
        self.squares = 0.0

    def add(self, block: _Block) -> None:
        self.largest = _larger(self.largest, block.largest)
        self.smallest = -_larger(-self.smallest, -block.smallest)
        self.sum += block.sum
        self.squares += block.squares

    def statistics(self, elements: int) -> SideStatistics:
        if elements == 0:
            return NO_STATISTICS
        return SideStatistics(self.largest, self.smallest, self.sum / elements, math.sqrt(self.squares))


class PairMetrics:
    """The sums, extremes and counts of two tensors so far: `add` their elements in order, then ask for the `result`.

    Both may be of any type that converts to double.
    """

    def __init__(self, golden: np.dtype[Any], target: np.dtype[Any]) -> None:
        self._is_complex = "c" in (golden.kind, target.kind)
        self._one_type = golden == target
        self._epsilon = max(relative_epsilon(golden), relative_epsilon(target))
        self._golden_side, self._target_side = _Side(), _Side()
        self._elements = self._mismatches = self._below_1000th = self._below_200th = 0
        self._identical = True
        self._golden_squares = self._target_squares = self._product = self._squared_distance = 0.0
        self._max_absolute = self._max_relative = self._magnitude = 0.0
        # The buffers that blocks are computed in.
        self._golden, self._target = np.empty(BLOCK), np.empty(BLOCK)
        self._difference, self._relative = np.empty(BLOCK), np.empty(BLOCK)
        self._mask = np.empty(BLOCK, bool)

    def add(self, golden: Array, target: Array) -> None:
        """Take the next elements in: as many, one-dimensional, of either side; ValueError otherwise."""
        if golden.ndim != 1 or golden.shape != target.shape:
            raise ValueError(f"elements of shapes {golden.shape} and {target.shape}")
        all_golden, all_target = self._real_elements(golden), self._real_elements(target)
        with np.errstate(all="ignore"):
            for start in range(0, all_golden.size, BLOCK):
                g, t = all_golden[start : start + BLOCK], all_target[start : start + BLOCK]
                if self._one_type and same_bytes(g, t):
                    self._add_identical(g)
                else:
                    self._add_different(g, t)

    def _real_elements(self, elements: Array) -> Array:
        contiguous = np.ascontiguousarray(elements)
        if self._is_complex and contiguous.dtype.kind != "c":
            contiguous = contiguous.astype(np.complex128)
        return contiguous.view(contiguous.real.dtype) if self._is_complex else contiguous

    def _add_identical(self, block: Array) -> None:
        size = block.size
        g = self._golden[:size]
        np.copyto(g, block, casting="unsafe")
        found = _Block.of(g)
        self._golden_side.add(found)
        self._target_side.add(found)
        if not math.isfinite(found.squares):
            g[~np.isfinite(g)] = 0.0
            found = _Block.of(g)
        self._golden_squares += found.squares
        self._target_squares += found.squares
        self._product += found.squares
        self._magnitude = max(self._magnitude, found.largest, -found.smallest)
        self._count(size, size, size)

    def _add_different(self, golden: Array, target: Array) -> None:
        self._identical = False
        size = golden.size
        g, t = self._golden[:size], self._target[:size]
        np.copyto(g, golden, casting="unsafe")
        np.copyto(t, target, casting="unsafe")
        found, other = _Block.of(g), _Block.of(t)
        self._golden_side.add(found)
        self._target_side.add(other)
        mismatches = 0
        if not math.isfinite(found.squares + other.squares):
            mismatches = _take_out_the_infinite(g, t)
            found, other = _Block.of(g), _Block.of(t)
        self._mismatches += mismatches
        self._golden_squares += found.squares
        self._target_squares += other.squares
        self._product += float(np.dot(g, t))
        self._magnitude = max(self._magnitude, found.largest, -found.smallest)
        self._add_differences(g, t, mismatches)

    def _add_differences(self, g: npt.NDArray[np.float64], t: npt.NDArray[np.float64], mismatches: int) -> None:
        size = g.size
        d, r, mask = self._difference[:size], self._relative[:size], self._mask[:size]
        np.subtract(t, g, out=d)
        self._squared_distance += float(np.dot(d, d))
        np.abs(d, out=d)
        largest = float(d.max())
        if largest == 0.0:  # -0.0 and 0.0, or the same numbers in two types
            self._count(size, size - mismatches, size - mismatches)
            return
        self._max_absolute = max(self._max_absolute, largest)
        np.abs(g, out=r)
        if r.min() == 0.0:
            r[r == 0.0] = self._epsilon
        np.divide(d, r, out=r)
        largest = float(r.max())
        self._max_relative = max(self._max_relative, largest)
        # What was taken out is there as an equal element; a mismatch must not count as one.
        below_200th = size if largest < 0.005 else int(np.count_nonzero(np.less(r, 0.005, out=mask)))
        below_1000th = size if largest < 0.001 else int(np.count_nonzero(np.less(r, 0.001, out=mask)))
        self._count(size, below_1000th - mismatches, below_200th - mismatches)

    def _count(self, elements: int, below_1000th: int, below_200th: int) -> None:
        self._elements += elements
        self._below_1000th += below_1000th
        self._below_200th += below_200th

    def result(self) -> Metrics:
        """Return what all elements so far come to."""
        some = self._elements > 0
        golden_norm, target_norm = math.sqrt(self._golden_squares), math.sqrt(self._target_squares)
        statistics = [side.statistics(self._elements) for side in (self._golden_side, self._target_side)]
        if self._is_complex:  # there is no order among them
            statistics = [SideStatistics(None, None, None, side.norm) for side in statistics]
        return Metrics(
            elements=self._elements,
            identical=self._identical and self._one_type,
            mismatches=self._mismatches,
            cosine=self._cosine(golden_norm, target_norm) if some else None,
            euclidean_distance=math.sqrt(self._squared_distance) if some else None,
            max_absolute_error=self._max_absolute if some else None,
            max_relative_error=self._max_relative if some else None,
            within_1000th=self._below_1000th / self._elements if some else None,
            within_200th=self._below_200th / self._elements if some else None,
            golden_norm=golden_norm,
            largest=self._magnitude,
            golden=statistics[0],
            target=statistics[1],
        )

    def _cosine(self, golden_norm: float, target_norm: float) -> float | None:
        if golden_norm <= _NORM_EPSILON and target_norm <= _NORM_EPSILON:
            return 1.0
        product = golden_norm * target_norm
        if golden_norm <= _NORM_EPSILON or target_norm <= _NORM_EPSILON or not math.isfinite(product):
            return None
        return max(-1.0, min(1.0, self._product / product))


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


def _ratio(error: float, scale: float) -> float:
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else math.inf
