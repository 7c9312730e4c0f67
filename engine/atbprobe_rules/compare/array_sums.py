"""What is added up over two arrays of two types, by numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from atbprobe_rules.compare.pair_sums import PairSums, SideSums

BLOCK = 8192
"""Elements. Five buffers of doubles lie in the second cache; BLAS starts no threads for so few."""

_ONES = np.ones(BLOCK)

Array = npt.NDArray[Any]


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


class ArrayPairSums:
    """The `sums` of two tensors so far: `add` their elements in order.

    Both may be of any type that converts to double. `epsilon` stands for a golden value of 0 in a relative error;
    `is_complex` if either is, and complex numbers count as two real ones.
    """

    def __init__(self, epsilon: float, *, is_complex: bool = False) -> None:
        self.sums = PairSums()
        self._epsilon = epsilon
        self._is_complex = is_complex
        self._buffers = _Buffers()

    def add(self, golden: Array, target: Array) -> None:
        """Take the next elements in: as many, one-dimensional, of either side; ValueError otherwise."""
        if golden.ndim != 1 or golden.shape != target.shape:
            raise ValueError(f"elements of shapes {golden.shape} and {target.shape}")
        all_golden, all_target = self._real_elements(golden), self._real_elements(target)
        with np.errstate(all="ignore"):
            for start in range(0, all_golden.size, BLOCK):
                self._add_block(all_golden[start : start + BLOCK], all_target[start : start + BLOCK])

    def _real_elements(self, elements: Array) -> Array:
        contiguous = np.ascontiguousarray(elements)
        if self._is_complex and contiguous.dtype.kind != "c":
            contiguous = contiguous.astype(np.complex128)
        return contiguous.view(contiguous.real.dtype) if self._is_complex else contiguous

    def _add_block(self, golden: Array, target: Array) -> None:
        buffers = self._buffers
        self.sums.differing_blocks += 1
        size = golden.size
        g, t = buffers.golden[:size], buffers.target[:size]
        np.copyto(g, golden, casting="unsafe")
        np.copyto(t, target, casting="unsafe")
        found, other = _Block.of(g), _Block.of(t)
        found.add_to(self.sums.golden_side)
        other.add_to(self.sums.target_side)
        mismatches = 0
        if not math.isfinite(found.squares + other.squares):
            mismatches = _take_out_the_infinite(g, t)
            found, other = _Block.of(g), _Block.of(t)
        self.sums.mismatches += mismatches
        self.sums.golden_squares += found.squares
        self.sums.target_squares += other.squares
        self.sums.product += float(np.dot(g, t))
        self.sums.magnitude = max(self.sums.magnitude, found.largest, -found.smallest)
        self._add_differences(g, t, mismatches)

    def _add_differences(self, g: npt.NDArray[np.float64], t: npt.NDArray[np.float64], mismatches: int) -> None:
        size, buffers = g.size, self._buffers
        d, r, mask = buffers.difference[:size], buffers.relative[:size], buffers.mask[:size]
        np.subtract(t, g, out=d)
        self.sums.squared_distance += float(np.dot(d, d))
        np.abs(d, out=d)
        largest = float(d.max())
        if largest == 0.0:  # -0.0 and 0.0, or the same numbers in two types
            self._count(size, size - mismatches, size - mismatches)
            return
        self.sums.largest_absolute = max(self.sums.largest_absolute, largest)
        np.abs(g, out=r)
        if r.min() == 0.0:
            r[r == 0.0] = self._epsilon
        np.divide(d, r, out=r)
        largest = float(r.max())
        self.sums.largest_relative = max(self.sums.largest_relative, largest)
        # What was taken out is there as an equal element; a mismatch must not count as one.
        below_200th = size if largest < 0.005 else int(np.count_nonzero(np.less(r, 0.005, out=mask)))
        below_1000th = size if largest < 0.001 else int(np.count_nonzero(np.less(r, 0.001, out=mask)))
        self._count(size, below_1000th - mismatches, below_200th - mismatches)

    def _count(self, elements: int, below_1000th: int, below_200th: int) -> None:
        self.sums.elements += elements
        self.sums.below_1000th += below_1000th
        self.sums.below_200th += below_200th


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
