"""How far two tensors are apart: against the formulas written out in numpy, and at the edges of floating point."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.compare.array_sums import BLOCK, ArrayPairSums
from atbprobe_rules.compare.metrics import Metrics, metrics_of
from compared_arrays import compare_arrays

Array = npt.NDArray[Any]
TYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, ml_dtypes.float8_e4m3fn]


def pair(dtype: Any, size: int, noise: float = 0.004) -> tuple[Array, Array]:
    generator = np.random.default_rng(size)
    golden = generator.standard_normal(size)
    return golden.astype(dtype), (golden * (1 + noise * generator.standard_normal(size))).astype(dtype)


@pytest.mark.parametrize("size", [1, 7, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_the_numbers_are_those_of_the_formulas(dtype: Any, size: int) -> None:
    golden, target = pair(dtype, size)
    found = compare_arrays(golden, target)
    g, t = golden.astype(np.float64), target.astype(np.float64)
    epsilon = np.finfo(np.float64 if dtype is np.float64 else np.float32).eps
    relative = np.abs(t - g) / np.where(g == 0, epsilon, np.abs(g))
    expected = {
        "euclidean_distance": np.linalg.norm(t - g),
        "max_absolute_error": np.abs(t - g).max(),
        "max_relative_error": relative.max(),
        "within_1000th": np.mean(relative < 0.001),
        "within_200th": np.mean(relative < 0.005),
        "cosine": np.dot(g, t) / (np.linalg.norm(g) * np.linalg.norm(t)),
        "relative_distance": np.linalg.norm(t - g) / np.linalg.norm(g),
        "peak_error": np.abs(t - g).max() / np.abs(g).max(),
    }
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=1e-12)
    for side, values in ((found.golden, g), (found.target, t)):
        assert (side.max, side.min) == (values.max(), values.min())
        assert (side.mean, side.norm) == pytest.approx((values.mean(), np.linalg.norm(values)), rel=1e-12, abs=1e-15)


def test_identical_bytes_are_told_and_have_the_same_statistics() -> None:
    golden, _ = pair(np.float16, BLOCK + 3)
    found = compare_arrays(golden, golden.copy())
    assert found.identical
    assert (found.cosine, found.euclidean_distance, found.max_relative_error) == (pytest.approx(1.0), 0.0, 0.0)
    assert (found.within_1000th, found.within_200th) == (1.0, 1.0)
    assert found.golden == found.target


def test_nan_in_the_same_places_is_equal() -> None:
    found = of([1.0, math.nan, -math.inf], [1.0, math.nan, -math.inf])
    assert (found.mismatches, found.max_absolute_error, found.within_1000th) == (0, 0.0, 1.0)
    statistics = found.golden
    numbers = (statistics.max, statistics.min, statistics.mean, statistics.norm)
    assert all(math.isnan(float(abs(number or 0))) for number in numbers)


def test_nan_in_equal_places_does_not_hide_the_rest() -> None:
    """Other bits of the NaN, too: what counts is that it is one."""
    other_nan = np.array([0x7FC00001], np.uint32).view(np.float32)[0]
    golden = np.array([1.0, math.nan, 2.0], np.float32)
    found = compare_arrays(golden, np.array([1.0, other_nan, 2.5], np.float32))
    assert (found.mismatches, found.max_absolute_error, found.max_relative_error) == (0, 0.5, 0.25)
    assert found.within_1000th == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("golden", "target"),
    [
        ([1.0, math.nan], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, math.nan]),
        ([1.0, math.inf], [1.0, -math.inf]),
        ([1.0, math.inf], [1.0, math.nan]),
    ],
)
def test_nan_or_infinity_on_one_side_is_a_mismatch(golden: list[float], target: list[float]) -> None:
    found = of(golden, target)
    assert (found.mismatches, found.within_1000th, found.within_200th) == (1, 0.5, 0.5)
    assert (found.max_absolute_error, found.cosine) == (0.0, 1.0)


def test_what_overflows_the_type_does_not_overflow_here() -> None:
    golden = np.full(4096, 60000.0, np.float16)
    target = np.full(4096, 59968.0, np.float16)
    found = compare_arrays(golden, target)
    assert found.golden.norm == 60000.0 * 64
    assert found.euclidean_distance == 32.0 * 64
    assert (found.max_absolute_error, found.golden.mean) == (32.0, 60000.0)


def test_zeros() -> None:
    both, one = of([0.0, 0.0], [0.0, -0.0]), of([0.0, 0.0], [0.0, 1e-3])
    assert (both.cosine, both.relative_distance, both.peak_error, both.identical) == (1.0, 0.0, 0.0, False)
    assert (one.cosine, one.relative_distance, one.peak_error) == (None, math.inf, math.inf)
    assert one.max_relative_error == pytest.approx(1e-3 / np.finfo(np.float32).eps, rel=1e-6)
    assert of([0], [2], np.int32).max_relative_error == 2 / np.finfo(np.float64).eps


def test_two_types_are_compared_by_their_numbers() -> None:
    golden = np.array([1.0, 2.0, 3.0], np.float32)
    found = compare_arrays(golden, golden.astype(np.float16))
    assert (found.identical, found.euclidean_distance, found.cosine) == (False, 0.0, pytest.approx(1.0))


def test_complex_numbers_count_as_two() -> None:
    golden = np.array([1 + 2j, 3 - 1j], np.complex64)
    found = compare_arrays(golden, golden + np.complex64(1j))
    assert (found.elements, found.max_absolute_error) == (4, 1.0)
    assert found.euclidean_distance == pytest.approx(math.sqrt(2))
    assert (found.golden.max, found.golden.norm) == (None, pytest.approx(math.sqrt(15)))


def test_integers_are_not_wrapped() -> None:
    found = of([-128, 127], [127, -128], np.int8)
    assert (found.max_absolute_error, found.euclidean_distance) == (255.0, 255 * math.sqrt(2))
    large = of([2**64 - 1], [0], np.uint64)
    assert large.max_absolute_error == 2.0**64


def test_bool_counts_as_0_and_1() -> None:
    found = of([True, False, True, True], [True, True, True, True], np.bool_)
    assert (found.max_absolute_error, found.golden.mean, found.target.max) == (1.0, 0.75, 1.0)


def test_nothing_to_compare() -> None:
    found = compare_arrays(np.empty((0, 128), np.float16), np.empty((0, 128), np.float16))
    assert (found.elements, found.cosine, found.max_absolute_error, found.golden.max) == (0, None, None, None)


def test_there_must_be_as_many_on_both_sides() -> None:
    with pytest.raises(ValueError, match="shapes"):
        ArrayPairSums(1e-7).add(np.zeros(3), np.zeros(4))


@given(
    st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=40),
    st.integers(min_value=1, max_value=7),
)
def test_it_does_not_matter_where_the_parts_end(values: list[tuple[float, float]], part: int) -> None:
    golden = np.array([value for value, _ in values], np.float32)
    target = np.array([value for _, value in values], np.float32)
    pieces = ArrayPairSums(float(np.finfo(np.float32).eps))
    for start in range(0, golden.size, part):
        pieces.add(golden[start : start + part], target[start : start + part])
    whole, found = compare_arrays(golden, target), metrics_of(pieces.sums, is_one_type=False, is_complex=False)
    for name in ("elements", "mismatches", "within_1000th", "within_200th", "max_absolute_error"):
        assert getattr(found, name) == getattr(whole, name), name
    for name in ("cosine", "euclidean_distance", "golden_norm"):
        one, other = getattr(found, name), getattr(whole, name)
        assert one is other is None or one == pytest.approx(other, rel=1e-9, abs=1e-12), name


def of(golden: list[Any], target: list[Any], dtype: Any = np.float32) -> Metrics:
    return compare_arrays(np.array(golden, dtype), np.array(target, dtype))
