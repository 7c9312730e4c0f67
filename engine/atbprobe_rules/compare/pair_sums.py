"""What is added up over two tensors, and the native loop that does it for the common types.

`interposer/comparison/pair_sums.h` has the same struct.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from atbprobe_rules.installation import comparison_library

_DTYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): 0,
    np.dtype(np.float16): 1,
    np.dtype(np.float64): 11,
    np.dtype(ml_dtypes.bfloat16): 27,
}
"""Types of the native loop → their numbers in a .bin."""


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
    same on the other; `differing_blocks`, whatever the size of a block, is 0 if and only if all bits are equal.
    """

    _fields_ = [
        ("golden_side", SideSums),
        ("target_side", SideSums),
        *(
            (name, ctypes.c_double)
            for name in (
                *("golden_squares", "target_squares", "product", "squared_distance"),
                *("largest_absolute", "largest_relative", "magnitude"),
            )
        ),
        *(
            (name, ctypes.c_uint64)
            for name in ("elements", "mismatches", "below_1000th", "below_200th", "differing_blocks")
        ),
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


def is_native(dtype: np.dtype[Any]) -> bool:
    """Whether `add_natively` takes arrays of this type."""
    return dtype in _DTYPES


def add_natively(sums: PairSums, golden: npt.NDArray[Any], target: npt.NDArray[Any], epsilon: float) -> None:
    """Add the elements of two contiguous arrays of one type and length to the sums."""
    assert golden.dtype == target.dtype and golden.size == target.size
    assert golden.flags.c_contiguous and target.flags.c_contiguous
    _library().atbprobe_add_pair(
        _DTYPES[golden.dtype], golden.ctypes.data, target.ctypes.data, golden.size, epsilon, ctypes.byref(sums)
    )


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(comparison_library()))
    function = library.atbprobe_add_pair
    function.restype = ctypes.c_bool
    pointer = ctypes.c_void_p
    function.argtypes = [ctypes.c_uint32, pointer, pointer, ctypes.c_uint64, ctypes.c_double, pointer]
    return library
