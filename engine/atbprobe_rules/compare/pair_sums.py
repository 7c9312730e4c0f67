"""What is added up over two tensors.

`interposer/comparison/pair_sums.h` has the same structs.
"""

from __future__ import annotations

import ctypes
import math


class SideSums(ctypes.Structure):
    """Of all elements of one side; all four are NaN as soon as one element is."""

    _fields_ = [(name, ctypes.c_double) for name in ("largest", "smallest", "sum", "squares")]

    largest: float
    smallest: float
    sum: float
    squares: float


class PairSums(ctypes.Structure):
    """Both sides, and what is said of the elements that are finite on both of them.

    `magnitude` is the largest one of golden; `mismatches` counts elements that are not finite on one side and not the
    same on the other; `differing_blocks`, whatever the size of a block, is 0 if and only if all bits are equal, of the
    values where bytes have bits that mean nothing (bool, types of fewer than eight).
    """

    _fields_ = [
        ("golden_side", SideSums),
        ("target_side", SideSums),
        *((name, ctypes.c_double) for name in ("product", "squared_distance", "largest_absolute", "largest_relative")),
        *((name, ctypes.c_uint64) for name in ("below_1000th", "below_200th")),
        *((name, ctypes.c_double) for name in ("golden_squares", "target_squares", "magnitude")),
        *((name, ctypes.c_uint64) for name in ("elements", "mismatches", "differing_blocks")),
    ]

    golden_side: SideSums
    target_side: SideSums
    golden_squares: float
    target_squares: float
    product: float
    squared_distance: float
    largest_absolute: float
    largest_relative: float
    magnitude: float
    elements: int
    mismatches: int
    below_1000th: int
    below_200th: int
    differing_blocks: int

    def __init__(self) -> None:
        super().__init__()
        for side in (self.golden_side, self.target_side):
            side.largest, side.smallest = -math.inf, math.inf
