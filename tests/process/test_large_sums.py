"""Sums over ten million elements, whose numbers are as unlike as the type allows, against numpy's longest type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray
from saver_driver import Driver, statistics_of

ELEMENTS = 10_000_000
DIFFERENT = 100_000
RELATIVE_ERROR = 1e-12
# Max and Min are written as the shortest text of a float.
SINGLE_PRECISION = {0, 1, 27}
# The host's numbers, and the types that numpy has for them.
TYPES: dict[int, DTypeLike] = {
    0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 6: np.int16, 7: np.uint16, 8: np.uint32,
    9: np.int64, 10: np.uint64, 11: np.float64, 12: np.bool_, 16: np.complex64, 17: np.complex128,
    27: ml_dtypes.bfloat16, 35: ml_dtypes.float8_e5m2, 36: ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def bounds_of(dtype: int) -> tuple[float, float]:
    """Return the smallest and the largest normal number; of integers 1 and the largest."""
    kind = np.dtype(TYPES[dtype])
    if kind == np.bool_:
        return 1, 1
    if kind.kind in "iu":
        return 1, float(np.iinfo(kind).max)
    info = ml_dtypes.finfo(kind)
    # Squares of doubles must not overflow in the reference, nor vanish: they have a test of their own.
    return max(float(info.smallest_normal), 1e-100), min(float(info.max), 1e100)


def converted(numbers: NDArray[np.float64], dtype: int) -> NDArray[Any]:
    largest = bounds_of(dtype)[1]
    # The largest 64-bit integers are no doubles: those next to them would become too large.
    in_range = np.minimum(numbers, np.nextafter(largest, 0) if largest > 2**53 else largest)
    return in_range.astype(TYPES[dtype])


def repeated(numbers: NDArray[Any]) -> NDArray[Any]:
    return np.tile(numbers, ELEMENTS // DIFFERENT)


def of_all_magnitudes(dtype: int) -> NDArray[Any]:
    smallest, largest = np.log(bounds_of(dtype))
    return repeated(converted(np.exp(np.random.default_rng(dtype).uniform(smallest, largest, DIFFERENT)), dtype))


def a_large_one_first(dtype: int) -> NDArray[Any]:
    """Whoever adds one after the other in too short a type loses all but the first."""
    smallest, largest = bounds_of(dtype)
    values = repeated(converted(np.random.default_rng(dtype).uniform(smallest, smallest * 3, DIFFERENT), dtype))
    values[0] = converted(np.array([min(largest, smallest * 2.0**40)]), dtype)[0]
    return values


def ascending(dtype: int) -> NDArray[Any]:
    largest = bounds_of(dtype)[1]
    numbers = np.sort(np.random.default_rng(dtype).uniform(0, min(largest, 1e6), DIFFERENT))
    return np.repeat(converted(numbers, dtype), ELEMENTS // DIFFERENT)


def of_both_signs(dtype: int) -> NDArray[Any]:
    """Of which something is left, about a hundredth of what there is."""
    numbers = np.random.default_rng(dtype).normal(0.01, 1, DIFFERENT)
    kind = np.dtype(TYPES[dtype])
    if kind.kind in "iu":
        numbers = np.trunc(numbers.clip(-4 if kind.kind == "i" else 0, 4) * bounds_of(dtype)[1] / 5)
    return repeated(converted(numbers, dtype))


def check_sums(mean: float, norm: float, parts: list[NDArray[Any]]) -> None:
    """`mean` is that of the first of the parts, which are of a longer type than double."""
    assert mean == pytest.approx(float(parts[0].mean()), rel=RELATIVE_ERROR)
    squares = sum(np.sum(part * part) for part in parts)
    assert norm == pytest.approx(float(np.sqrt(squares)), rel=RELATIVE_ERROR)


@pytest.mark.parametrize(
    "make",
    [
        a_large_one_first,
        *(pytest.param(make, marks=pytest.mark.soak) for make in (of_all_magnitudes, ascending, of_both_signs)),
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
def test_ten_million_elements(driver: Driver, dtype: int, make: Callable[[int], NDArray[Any]]) -> None:
    values = make(dtype)
    row = statistics_of(driver, values.tobytes(), dtype, str(ELEMENTS))
    if values.dtype.kind == "c":
        mean = float(row["Mean"].strip("()").split(",")[0])
        parts = [values.real.astype(np.longdouble), values.imag.astype(np.longdouble)]
    else:
        mean = float(row["Mean"])
        parts = [values.astype(np.longdouble)]
        read = np.float32 if dtype in SINGLE_PRECISION else np.float64
        extremes = values.astype(np.float64)
        assert (read(row["Max"]), read(row["Min"])) == (extremes.max(), extremes.min())
    check_sums(mean, float(row["Norm"]), parts)
