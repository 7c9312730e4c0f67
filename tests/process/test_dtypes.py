"""Statistics of complex numbers and of the types of at most eight bits, against numpy and ml_dtypes."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike, NDArray
from saver_driver import STATISTICS, Driver, statistics_of

from narrow_values import NARROW

COLUMNS = ("Max", "Min", "Mean", "Norm")
one_driver_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


PACKED = [dtype for dtype, (bits, _) in NARROW.items() if bits in (1, 4)]
HALF, SINGLE, DOUBLE = 33, 16, 17
PARTS: dict[int, DTypeLike] = {HALF: np.float16, SINGLE: np.float32, DOUBLE: np.float64}
PART_NUMBERS = {HALF: st.floats(width=16), SINGLE: st.floats(width=32), DOUBLE: st.floats()}


def expected(values: NDArray[np.float64]) -> tuple[float, ...]:
    if np.isnan(values).any():
        return (math.nan,) * 4
    with np.errstate(all="ignore"):
        return (values.max(), values.min(), values.mean(), math.sqrt(math.fsum(values**2)))


def check(row: dict[str, str], values: NDArray[np.float64]) -> None:
    for column, number in zip(COLUMNS, expected(values), strict=True):
        slack = 0.0 if column in ("Max", "Min") else 1e-13
        largest = float(np.abs(values).max())
        scale = largest if math.isfinite(largest) else 0.0
        assert float(row[column]) == pytest.approx(number, rel=slack, abs=slack * scale, nan_ok=True), (column, row)


def pack(codes: list[int], bits: int) -> bytes:
    """Put the first code into the lowest bits."""
    whole = sum(code << (bits * index) for index, code in enumerate(codes))
    return whole.to_bytes(-(-len(codes) * bits // 8), "little")


@pytest.mark.parametrize("dtype", sorted(NARROW))
def test_every_code(driver: Driver, dtype: int) -> None:
    bits, table = NARROW[dtype]
    for code in range(2**bits):
        driver.save(data=bytes([code]), dtype=dtype, tasks=STATISTICS, dims="1")
    driver.finish()
    rows = driver.rows()
    assert len(rows) == 2**bits
    for row, value in zip(rows, table, strict=True):
        check(row, np.array([value]))


@pytest.mark.parametrize("dtype", sorted(NARROW))
@one_driver_for_all_examples
@given(data=st.data())
def test_one_element_in_a_byte(driver: Driver, dtype: int, data: st.DataObject) -> None:
    bits, table = NARROW[dtype]
    codes = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=40))
    row = statistics_of(driver, bytes(codes), dtype, dims=str(len(codes)))
    check(row, np.array([table[code] for code in codes], np.float64))


@pytest.mark.parametrize("dtype", PACKED)
@one_driver_for_all_examples
@given(data=st.data())
def test_elements_without_gaps(driver: Driver, dtype: int, data: st.DataObject) -> None:
    """What lies behind the last element does not count."""
    bits, table = NARROW[dtype]
    codes = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=2, max_size=40))
    in_byte = 8 // bits
    rest = -len(codes) % in_byte
    behind = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=rest, max_size=rest))
    row = statistics_of(driver, pack(codes + behind, bits), dtype, dims=f"1,{len(codes)}")
    check(row, np.array([table[code] for code in codes], np.float64))


@pytest.mark.parametrize(
    ("dtype", "size", "dims"),
    [
        (29, 3, "8"),  # neither 4 nor 8 bytes
        (29, 4, "x"),
        (29, 4, "4,"),
        (29, 4, "99999999999999999999,2"),
        (29, 0, "0"),
        (30, 2, "8"),
        (38, 3, "4"),  # six bits without gaps
        (39, 6, "8"),
        (40, 5, "8"),
        (13, 8, "1"),
        (34, 0, "0"),
    ],
)
def test_what_cannot_be_told_is_not_guessed(driver: Driver, dtype: int, size: int, dims: str) -> None:
    row = statistics_of(driver, b"\1" * size, dtype, dims=dims)
    assert [row[column] for column in COLUMNS] == ["N/A"] * 4


def test_eight_bits_need_no_shape(driver: Driver) -> None:
    """A format with padding has more bytes than the shape says, as with the wider types."""
    row = statistics_of(driver, bytes([0x38] * 3 + [0]), 36, dims="3")
    assert [row[column] for column in COLUMNS[:3]] == ["1", "0", "0.75"]


@pytest.mark.parametrize("dtype", [29, 36])
def test_more_than_a_block(driver: Driver, dtype: int) -> None:
    bits, table = NARROW[dtype]
    codes = np.random.default_rng(1).integers(0, 2**bits - 2, 100_001, dtype=np.uint8) % 0x7F
    row = statistics_of(driver, codes.tobytes(), dtype, dims="100001")
    check(row, np.array(table)[codes])


# ---- complex ----


def parts_of(text: str) -> complex:
    match = re.fullmatch(r"\((.+),(.+)\)", text)
    assert match, text
    return complex(float(match[1]), float(match[2]))


def check_complex(row: dict[str, str], numbers: NDArray[Any]) -> None:
    flat = numbers.view(np.float64)
    if np.isnan(flat).any():
        assert [row[column] for column in COLUMNS] == ["nan"] * 4
        return
    scale = max(float(np.abs(flat).max()), 1e-300)
    if math.isinf(scale):
        assert math.inf in (abs(parts_of(row["Max"]).real), abs(parts_of(row["Max"]).imag))
        assert row["Norm"] == "inf"
        return
    scaled = [complex(number) / scale for number in numbers]
    magnitudes = [abs(number) for number in scaled]
    for column, extreme in (("Max", max(magnitudes)), ("Min", min(magnitudes))):
        written = parts_of(row[column])
        assert written in list(numbers)
        assert abs(written / scale) == pytest.approx(extreme, rel=1e-14)
    mean = parts_of(row["Mean"]) / scale
    assert mean.real == pytest.approx(math.fsum(n.real for n in scaled) / len(scaled), rel=1e-12, abs=1e-13)
    assert mean.imag == pytest.approx(math.fsum(n.imag for n in scaled) / len(scaled), rel=1e-12, abs=1e-13)
    norm = math.sqrt(math.fsum(magnitude**2 for magnitude in magnitudes))
    assert float(row["Norm"]) / scale == pytest.approx(norm, rel=1e-12) or scale * norm > 1.7e308


@pytest.mark.parametrize("dtype", sorted(PARTS))
@one_driver_for_all_examples
@given(data=st.data())
def test_complex_numbers(driver: Driver, dtype: int, data: st.DataObject) -> None:
    part = PART_NUMBERS[dtype] | st.sampled_from([0.0, -1.0, 3.0, 4.0])
    parts = data.draw(st.lists(part, min_size=1, max_size=20).map(lambda values: values * 2))
    stored = np.array(parts, PARTS[dtype])
    row = statistics_of(driver, stored.tobytes(), dtype, dims=str(len(parts) // 2))
    check_complex(row, stored.astype(np.float64).view(np.complex128))


@pytest.mark.parametrize("dtype", sorted(PARTS))
def test_text_of_complex_numbers(driver: Driver, dtype: int) -> None:
    """The field holds a comma, so it is quoted; a broken last element is not read."""
    stored = np.array([3, -4, 0, 0.5, 0, 1, -3, 2.5], PARTS[dtype]).tobytes() + b"\x7f" * 3
    row = statistics_of(driver, stored, dtype, dims="4")
    assert [row[column] for column in COLUMNS[:3]] == ["(3,-4)", "(0,0.5)", "(0,0)"]
    assert float(row["Norm"]) == pytest.approx(math.sqrt(9 + 16 + 0.25 + 1 + 9 + 6.25))
    line = (driver.data / "0_1234/0/statistic.csv").read_text().splitlines()[1]
    assert '"(3,-4)","(0,0.5)","(0,0)"' in line
    assert len(next(csv.reader(io.StringIO(line)))) == 15
