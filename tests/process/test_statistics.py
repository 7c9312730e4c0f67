"""Statistics of the saver against numpy, in double."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from numpy.typing import DTypeLike, NDArray
from saver_driver import (
    STATISTICS,
    Driver,
    StartDriver,
    statistics_of,
)

# The host's numbers, and the types that numpy has for them.
NUMPY_TYPES: dict[int, DTypeLike] = {
    0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 6: np.int16, 7: np.uint16,
    8: np.uint32, 9: np.int64, 10: np.uint64, 11: np.float64, 12: np.bool_, 27: ml_dtypes.bfloat16,
}  # fmt: skip
SINGLE_PRECISION = {0, 1, 27}

# One process serves all examples of a property test; each example has a round of its own.
one_driver_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def expected_statistics(values: NDArray[Any], dtype: int) -> dict[str, float]:
    """Maximum, minimum, mean and norm, in double precision with exact sums."""
    if dtype in SINGLE_PRECISION or dtype == 11:
        with np.errstate(all="ignore"):
            numbers = values.astype(np.float64)
        if np.isnan(numbers).any():
            return dict.fromkeys(("Max", "Min", "Mean", "Norm"), math.nan)
        with np.errstate(all="ignore"):
            if np.isinf(numbers).any():
                mean, norm = float(numbers.mean()), math.inf
            else:
                exponent = max(math.frexp(float(np.abs(numbers).max()))[1], -1000)
                scaled = [math.ldexp(float(number), -exponent) for number in numbers.ravel()]
                mean = math.ldexp(math.fsum(scaled) / len(scaled), exponent)
                squares = math.sqrt(math.fsum(number * number for number in scaled))
                norm = (
                    math.inf
                    if squares > 0 and math.frexp(squares)[1] + exponent > 1024
                    else math.ldexp(squares, exponent)
                )
        return {"Max": float(numbers.max()), "Min": float(numbers.min()), "Mean": mean, "Norm": norm}
    exact = [int(value) for value in values.ravel()]
    return {
        "Max": float(max(exact)),
        "Min": float(min(exact)),
        "Mean": sum(exact) / len(exact),
        "Norm": math.sqrt(sum(value * value for value in exact)),
    }


def check_statistics(row: dict[str, str], values: NDArray[Any], dtype: int) -> None:
    expected = expected_statistics(values, dtype)
    for column in ("Max", "Min"):
        read = float(row[column])
        if dtype in SINGLE_PRECISION:
            read = float(np.float32(row[column]))
        assert read == expected[column] or (math.isnan(read) and math.isnan(expected[column])), row
    # The mean of numbers that cancel out is as good as a double can hold of the largest of them.
    with np.errstate(all="ignore"):
        largest = float(np.abs(values.astype(np.float64)).max())
    slack = 1e-12 * largest if math.isfinite(largest) else 0.0
    for column, absolute in (("Mean", slack + 5e-324), ("Norm", 5e-324)):
        wanted = pytest.approx(expected[column], rel=1e-13, abs=absolute, nan_ok=True)
        assert float(row[column]) == wanted, row


def arrays_of(dtype: int) -> st.SearchStrategy[NDArray[Any]]:
    """Arrays of any bit patterns, many of them of more than one block of the vector loops."""
    size = np.dtype(NUMPY_TYPES[dtype]).itemsize
    if dtype == 12:
        return hypothesis_numpy.arrays(np.bool_, st.integers(1, 70))
    words = st.integers(1, 70) | st.sampled_from([4095, 4096, 4097, 9001])
    patterns = hypothesis_numpy.arrays(np.dtype(f"u{size}"), words)
    return patterns.map(lambda array: array.view(NUMPY_TYPES[dtype]))


@pytest.mark.parametrize("dtype", sorted(NUMPY_TYPES))
@one_driver_for_all_examples
@given(data=st.data())
def test_statistics_equal_numpy_in_double(driver: Driver, dtype: int, data: st.DataObject) -> None:
    values = data.draw(arrays_of(dtype))
    check_statistics(statistics_of(driver, values.tobytes(), dtype), values, dtype)


@pytest.mark.parametrize("dtype", [0, 1, 11, 27])
@one_driver_for_all_examples
@given(data=st.data())
def test_statistics_of_ordinary_numbers(driver: Driver, dtype: int, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 2**32))
    size = data.draw(st.integers(1, 20000))
    values = (np.random.default_rng(seed).standard_normal(size) * 3 + 1).astype(NUMPY_TYPES[dtype])
    check_statistics(statistics_of(driver, values.tobytes(), dtype), values, dtype)


@pytest.mark.parametrize("dtype", [1, 27])
def test_every_half_is_read_exactly(driver: Driver, dtype: int) -> None:
    halves = np.arange(0, 65536, 61, dtype=np.uint16).view(NUMPY_TYPES[dtype])
    for half in halves:
        driver.save(data=half.tobytes(), dtype=dtype, tasks=STATISTICS)
    driver.finish()
    for row, half in zip(driver.rows(), halves, strict=True):
        check_statistics(row, np.array([half]), dtype)


FLOAT = np.float32
NAMED_STATISTICS = [
    # S1, S2: what is not finite shows, as in numpy.
    (0, [-math.inf, 0, 1], ("1", "-inf", "-inf", "inf")),
    (0, [math.inf, -math.inf], ("inf", "-inf", "nan", "inf")),
    (0, [math.nan, math.nan], ("nan", "nan", "nan", "nan")),
    (0, [1, math.nan], ("nan", "nan", "nan", "nan")),
    (27, [1, math.nan, math.inf], ("nan", "nan", "nan", "nan")),
    # S3: the shortest text that reads back.
    (0, [3.2e-7], ("3.2e-07", "3.2e-07", None, None)),
    (1, [65504], ("65504", "65504", "65504", "65504")),
    (0, [-0.0], ("-0", "-0", None, "0")),
    (1, [2**-24], ("5.9604645e-08", "5.9604645e-08", "5.960464477539063e-08", "5.960464477539063e-08")),
    # S4: nothing overflows.
    (2, [-128] * 4, ("-128", "-128", "-128", "256")),
    (3, [2147483647] * 2, ("2147483647", "2147483647", "2147483647", None)),
    (9, [2**62] * 2, ("4611686018427387904", "4611686018427387904", "4611686018427387904", None)),
    (10, [2**64 - 1], ("18446744073709551616", None, None, "18446744073709551616")),
    (9, [-(2**63), 2**63 - 1], (None, None, "-0.5", None)),
    (11, [1e308, 1e308], ("1e+308", "1e+308", "1e+308", None)),
    (11, [5e-324, 5e-324], ("5e-324", "5e-324", "5e-324", None)),
    (11, [0.0], ("0", "0", "0", "0")),
    (12, [True, False, True, True], ("1", "0", "0.75", None)),
]


@pytest.mark.parametrize(("dtype", "values", "texts"), NAMED_STATISTICS)
def test_statistics_as_text(driver: Driver, dtype: int, values: list[float], texts: tuple[str | None, ...]) -> None:
    array = np.array(values, NUMPY_TYPES[dtype])
    row = statistics_of(driver, array.tobytes(), dtype)
    check_statistics(row, array, dtype)
    for column, text in zip(("Max", "Min", "Mean", "Norm"), texts, strict=True):
        assert text is None or row[column] == text, column


def test_a_bool_is_any_byte_but_zero(driver: Driver) -> None:
    row = statistics_of(driver, bytes([2, 0, 255, 1]), 12)
    assert [row["Max"], row["Min"], row["Mean"]] == ["1", "0", "0.75"]


def test_a_broken_last_element_is_not_read(driver: Driver) -> None:
    row = statistics_of(driver, np.array([1, 2], FLOAT).tobytes() + b"\x7f", 0, dims="3")
    assert [row["Max"], row["Min"], row["Mean"]] == ["2", "1", "1.5"]


def test_a_host_that_flushes_subnormals_changes_nothing(start: StartDriver) -> None:
    for environment in ({}, {"ATBPROBE_QUEUE_BYTES": "0"}):
        driver = start(**environment)
        driver.ask("flush_to_zero")
        row = statistics_of(driver, np.array([1], np.uint16).tobytes(), 1)
        assert row["Max"] == "5.9604645e-08"


def versions_of(driver: Driver, data: bytes, dtype: int) -> list[str]:
    """What every version of the loops that this machine can run makes of the data, the scalar one first."""
    answer = driver.ask(f"statistics {dtype} {len(data)} {len(data)}", data)
    found: list[str] = json.loads(answer)
    return found


@pytest.mark.parametrize("dtype", sorted(NUMPY_TYPES))
@one_driver_for_all_examples
@given(data=st.data())
def test_all_versions_give_the_same_to_the_bit(driver: Driver, dtype: int, data: st.DataObject) -> None:
    values = data.draw(arrays_of(dtype))
    scalar, *others = versions_of(driver, values.tobytes(), dtype)
    assert others
    assert set(others) == {scalar}


@pytest.mark.parametrize("dtype", [0, 1, 11, 27])
@pytest.mark.parametrize("size", [1, 15, 16, 17, 4095, 4096, 4112, 50_000])
def test_all_versions_give_the_same_for_ordinary_numbers(driver: Driver, dtype: int, size: int) -> None:
    values = (np.random.default_rng(size).standard_normal(size) * 3 + 1).astype(NUMPY_TYPES[dtype])
    scalar, *others = versions_of(driver, values.tobytes(), dtype)
    assert set(others) == {scalar}
    known, largest, smallest, mean, norm, *_ = [float.fromhex(text) for text in scalar.split()]
    expected = expected_statistics(values, dtype)
    assert (known, largest, smallest) == (1, expected["Max"], expected["Min"])
    assert [mean, norm] == pytest.approx([expected["Mean"], expected["Norm"]], rel=1e-12)


def test_every_half_is_the_same_to_all_versions(driver: Driver) -> None:
    for dtype in (1, 27):
        for start in range(0, 65536, 16):
            halves = np.arange(start, start + 16, dtype=np.uint16)
            scalar, *others = versions_of(driver, halves.tobytes(), dtype)
            assert set(others) == {scalar}
