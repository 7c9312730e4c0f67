"""anomaly.csv: which tensors hold NaN or infinities, how many, and where the first one is."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike, NDArray
from saver_driver import INPUT, STATISTICS, TENSOR, Driver

HEADER = [
    "Device and PID", "Execution Count", "Op Name", "Op Type", "Op Id", "Input/Output", "Index", "Dtype", "Shape",
    "NaN", "+Inf", "-Inf", "First Position", "First Index", "Tensor Path",
]  # fmt: skip

FLOAT, HALF, DOUBLE, BF16, COMPLEX64, COMPLEX128 = 0, 1, 11, 27, 16, 17
E5M2, E4M3FN, E8M0 = 35, 36, 37
NUMPY_TYPES: dict[int, DTypeLike] = {
    FLOAT: np.float32,
    HALF: np.float16,
    DOUBLE: np.float64,
    BF16: ml_dtypes.bfloat16,
    E5M2: ml_dtypes.float8_e5m2,
    E4M3FN: ml_dtypes.float8_e4m3fn,
}

one_driver_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_anomalies(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == HEADER
    assert all(len(line) == len(HEADER) for line in lines)
    return [dict(zip(HEADER, line, strict=True)) for line in lines[1:]]


def anomalies(driver: Driver, round_folder: str = "0_1234/0") -> list[dict[str, str]]:
    return read_anomalies(driver.data / round_folder / "anomaly.csv")


def data_of(values: list[float], dtype: int = FLOAT) -> bytes:
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(NUMPY_TYPES[dtype]).tobytes()


def test_a_row_says_which_tensor_and_where(driver: Driver) -> None:
    values = [[0.0, 1.0, 2.0], [np.inf, -np.inf, np.nan]]
    driver.save(
        "3_77/5/2_Prefill_layer/1_Attention/after/outtensor2_value.bin",
        np.array(values, np.float32).tobytes(),
        dims="2,3",
    )
    driver.finish()
    stored = driver.data / "3_77/5/2_Prefill_layer/1_Attention/after/outtensor2_value.bin"
    texts = ["3_77", "5", "Prefill_layer/Attention", "Attention", "2_1", "output", "2_value", "float", "2x3"]
    expected = [*texts, "1", "1", "1", "3", "1,0", str(stored)]
    assert anomalies(driver, "3_77/5") == [dict(zip(HEADER, expected, strict=True))]


@pytest.mark.parametrize(
    ("values", "counts", "first"),
    [
        ([np.nan, np.nan], ("2", "0", "0"), "0"),
        ([1.0, np.nan], ("1", "0", "0"), "1"),
        ([-np.inf, 0.0, 1.0], ("0", "0", "1"), "0"),
        ([0.0, np.inf, -np.inf, np.inf], ("0", "2", "1"), "1"),
    ],
)
def test_counts_and_the_first(driver: Driver, values: list[float], counts: tuple[str, ...], first: str) -> None:
    driver.save(data=data_of(values), dims=str(len(values)), tasks=STATISTICS)
    driver.finish()
    (row,) = anomalies(driver)
    assert (row["NaN"], row["+Inf"], row["-Inf"]) == counts
    assert (row["First Position"], row["First Index"], row["Tensor Path"]) == (first, first, "N/A")


@pytest.mark.parametrize("dtype", [FLOAT, HALF, DOUBLE, BF16])
@pytest.mark.parametrize("largest", [True, False])
def test_finite_tensors_have_none(driver: Driver, dtype: int, largest: bool) -> None:
    """Not even those whose norm is beyond any number."""
    kind = ml_dtypes.finfo(NUMPY_TYPES[dtype])
    value = float(kind.max if largest else kind.smallest_subnormal)
    driver.save(data=data_of([value, -value, value, value], dtype), dtype=dtype, dims="4")
    driver.finish()
    assert len(driver.rows()) == 1
    assert not (driver.data / "0_1234/0/anomaly.csv").exists()


@pytest.mark.parametrize("dtype", [FLOAT, HALF, DOUBLE, BF16])
@pytest.mark.parametrize("first", [0, 1, 4095, 4096, 4097, 9000])
def test_large_tensors(driver: Driver, dtype: int, first: int) -> None:
    random = np.random.default_rng(first)
    values = random.standard_normal(9001)
    places = np.union1d([first], random.integers(first, 9001, 500))
    values[places] = random.choice([np.nan, np.inf, -np.inf], len(places))
    driver.save(data=data_of(list(values), dtype), dtype=dtype, dims="9001", tasks=STATISTICS)
    driver.finish()
    (row,) = anomalies(driver)
    expected = [np.isnan(values).sum(), (values == np.inf).sum(), (values == -np.inf).sum(), first]
    assert [int(row[name]) for name in ("NaN", "+Inf", "-Inf", "First Position")] == expected


def test_without_statistics_there_are_none(driver: Driver) -> None:
    driver.save(data=data_of([np.nan]), tasks=TENSOR)
    driver.finish()
    assert not (driver.data / "0_1234/0/anomaly.csv").exists()


@pytest.mark.parametrize(
    ("dims", "position", "index"),
    [("", 0, ""), ("4", 3, "3"), ("2,2", 3, "1,1"), ("1,4,1", 2, "0,2,0"), ("2", 3, "N/A"), ("x", 1, "N/A")],
)
def test_the_index_of_the_first(driver: Driver, dims: str, position: int, index: str) -> None:
    """By the shape; where that does not hold the position, it is not made up."""
    values = [0.0] * (1 if dims == "" else 4)
    values[position] = np.inf
    driver.save(data=data_of(values), dims=dims)
    driver.finish()
    assert anomalies(driver)[0]["First Index"] == index


def test_complex_numbers_count_once(driver: Driver) -> None:
    values = [1, complex(np.nan, np.inf), complex(np.inf, 0), complex(0, -np.inf), complex(-np.inf, np.inf)]
    for dtype, kind in ((COMPLEX64, np.complex64), (COMPLEX128, np.complex128)):
        driver.save(INPUT.replace("0.bin", f"{dtype}.bin"), np.array(values, kind).tobytes(), dtype=dtype, dims="5")
    driver.finish()
    for row in anomalies(driver):
        assert [row[name] for name in ("NaN", "+Inf", "-Inf", "First Position")] == ["1", "1", "2", "1"]


def test_scales_of_eight_bits(driver: Driver) -> None:
    driver.save(data=bytes([1, 254, 255, 255]), dtype=E8M0, dims="4")
    driver.finish()
    (row,) = anomalies(driver)
    assert [row[name] for name in ("NaN", "+Inf", "-Inf", "First Position")] == ["2", "0", "0", "2"]


def test_rows_come_in_the_order_of_the_calls_among_others(driver: Driver) -> None:
    """Only some tensors of many have one, and the header stands once."""
    for number in range(300):
        data = data_of([np.nan if number % 3 == 0 else 1.0])
        driver.save(f"0_1234/0/{number}_A/before/intensor0.bin", data, tasks=STATISTICS)
    driver.finish()
    assert [row["Op Id"] for row in anomalies(driver)] == [str(number) for number in range(0, 300, 3)]
    assert len(driver.rows()) == 300


def test_a_file_that_cannot_be_written_is_a_counted_loss(driver: Driver) -> None:
    driver.save(data=data_of([1.0]))
    driver.ask("idle")
    (driver.data / "0_1234/0/anomaly.csv").mkdir()
    driver.save(INPUT.replace("0.bin", "1.bin"), data_of([np.nan]))
    assert driver.finish()["write_failed"] == 1
    assert [row["Max"] for row in driver.rows()] == ["1", "nan"]


@pytest.fixture
def fresh_round(driver: Driver) -> Callable[[], str]:
    numbers = count()
    return lambda: f"0_1234/{next(numbers)}"


special = st.sampled_from([0.0, 1.0, -3.5, 1e30, np.nan, np.inf, -np.inf])


@one_driver_for_all_examples
@given(values=st.lists(special, min_size=1, max_size=40), dtype=st.sampled_from(sorted(NUMPY_TYPES)))
def test_against_numpy(driver: Driver, fresh_round: Callable[[], str], values: list[float], dtype: int) -> None:
    folder = fresh_round()
    data = data_of(values, dtype)
    stored: NDArray[Any] = np.frombuffer(data, NUMPY_TYPES[dtype]).astype(np.float64)
    driver.save(f"{folder}/2_A/before/intensor0.bin", data, dtype=dtype, dims=str(len(values)), tasks=STATISTICS)
    driver.ask("idle")
    path = driver.data / folder / "anomaly.csv"
    bad = np.flatnonzero(~np.isfinite(stored))
    assert path.exists() == (len(bad) > 0)
    if len(bad) > 0:
        (row,) = read_anomalies(path)
        counts = [np.isnan(stored).sum(), np.isposinf(stored).sum(), np.isneginf(stored).sum(), bad[0]]
        assert [int(row[name]) for name in ("NaN", "+Inf", "-Inf", "First Position")] == counts
