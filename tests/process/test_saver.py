"""The saver, called in a real process: what lies on disk afterwards, and what is said when it cannot."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import resource
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from numpy.typing import DTypeLike, NDArray
from saver_driver import (
    ALL,
    INPUT,
    STATISTICS,
    TENSOR,
    Driver,
    StartDriver,
    loose_ends,
    read_bin,
    read_rows,
    saved_files,
    statistics_of,
)

# The host's numbers, and the types that numpy has for them.
NUMPY_TYPES: dict[int, DTypeLike] = {
    0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 6: np.int16, 7: np.uint16,
    8: np.uint32, 9: np.int64, 10: np.uint64, 11: np.float64, 12: np.bool_, 27: ml_dtypes.bfloat16,
}  # fmt: skip
SINGLE_PRECISION = {0, 1, 27}
TYPE_NAMES = {
    -1: "undefined", 0: "float", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16",
    8: "uint32", 9: "int64", 10: "uint64", 11: "double", 12: "bool", 13: "string", 16: "complex64",
    17: "complex128", 27: "bf16", 29: "int4", 30: "uint1", 33: "complex32", 34: "hifloat8",
    35: "float8_e5m2", 36: "float8_e4m3fn", 37: "float8_e8m0", 38: "float6_e3m2", 39: "float6_e2m3",
    40: "float4_e2m1", 41: "float4_e1m2", 99: "undefined(99)",
}  # fmt: skip
# Without a meaning, or, where they have fewer than eight bits, in a buffer that does not fit the shape.
NOT_DECODED = {-1, 13, 29, 30, 38, 39, 40, 41, 99}
FORMAT_NAMES = {
    0: "nchw", 1: "nhwc", 2: "nd", 3: "nc1hwc0", 4: "fractal_z", 12: "nc1hwc0_c04", 16: "hwcn", 27: "ndhwc",
    29: "fractal_nz", 30: "ncdhw", 32: "ndc1hwc0", 33: "fractal_z_3d", 35: "nc", 47: "ncl",
    50: "fractal_nz_c0_16", 51: "fractal_nz_c0_32", 5: "undefined(5)", -1: "undefined(-1)",
}  # fmt: skip

# One process serves all examples of a property test; each example has a round of its own.
one_driver_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

# ---- statistics ----


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


# ---- files ----


@pytest.mark.parametrize("dtype", sorted(TYPE_NAMES))
def test_every_type_gets_a_row_and_a_file(driver: Driver, dtype: int) -> None:
    data = bytes(range(48))
    driver.save(data=data, dtype=dtype, dims="6,1")
    assert driver.finish()["tensors_saved"] == 1
    (row,) = driver.rows()
    assert row["Dtype"] == TYPE_NAMES[dtype]
    assert row["Shape"] == "6x1"
    assert (row["Max"] == "N/A") == (dtype in NOT_DECODED)
    attributes, stored = read_bin(Path(row["Tensor Path"]))
    assert stored == data
    assert attributes["dtype"] == str(dtype)


@pytest.mark.parametrize("layout", sorted(FORMAT_NAMES))
def test_every_format_has_its_name(driver: Driver, layout: int) -> None:
    driver.save(layout=layout)
    driver.finish()
    assert driver.rows()[0]["Format"] == FORMAT_NAMES[layout]


def test_bin_is_text_then_data(driver: Driver) -> None:
    driver.save(data=b"\x00\x3c" * 8, dtype=1, dims="4,2")
    driver.finish()
    assert (driver.data / INPUT).read_bytes() == (
        b"$Version=1.0\n$Object.Count=1\n$Object.Length=16\nformat=2\ndtype=1\ndims=4,2\n"
        b"$Object.data=0,16\n$End=1\n" + b"\x00\x3c" * 8
    )


def test_row_names_the_operation(driver: Driver) -> None:
    path = "0_1234/7/2_Prefill_layer/1_Attention/after/outtensor2_value.bin"
    driver.save(path, dims="36,128")
    driver.finish()
    (row,) = driver.rows("0_1234/7")
    del row["Max"], row["Min"], row["Mean"], row["Norm"]
    assert row == {
        "Device and PID": "0_1234",
        "Execution Count": "7",
        "Op Name": "Prefill_layer/Attention",
        "Op Type": "Attention",
        "Op Id": "2_1",
        "Input/Output": "output",
        "Index": "2_value",
        "Dtype": "float",
        "Format": "nd",
        "Shape": "36x128",
        "Tensor Path": str(driver.data / path),
    }


def test_tasks(driver: Driver) -> None:
    for number, tasks in enumerate((TENSOR, STATISTICS, ALL, 0)):
        driver.save(f"0_1234/{number}/2_Prefill_layer/before/intensor0.bin", tasks=tasks)
    assert driver.finish()["tensors_saved"] == 3
    (tensor,), (statistics,), (both,) = (driver.rows(f"0_1234/{number}") for number in range(3))
    assert [tensor["Max"], statistics["Max"], both["Max"]] == ["N/A", "1", "1"]
    assert statistics["Tensor Path"] == "N/A"
    assert Path(tensor["Tensor Path"]).is_file()
    assert Path(both["Tensor Path"]).is_file()
    assert [path.name for path in (driver.data / "0_1234" / "1").iterdir()] == ["statistic.csv"]
    assert not (driver.data / "0_1234" / "3").exists()


def test_scalar_and_empty_tensor(driver: Driver) -> None:
    driver.save(dims="")
    driver.save("0_1234/0/2_Prefill_layer/before/intensor1.bin", b"", dtype=1, dims="0,128")
    driver.finish()
    scalar, empty = driver.rows()
    assert [scalar["Shape"], scalar["Max"], scalar["Norm"]] == ["", "1", "1"]
    assert [empty[column] for column in ("Shape", "Max", "Min", "Mean", "Norm")] == ["0x128"] + ["N/A"] * 4
    assert read_bin(Path(empty["Tensor Path"]))[1] == b""


@pytest.mark.parametrize(
    "path",
    [
        "0_1234/0/2_add_after_norm/before/outtensor0.bin",
        "0_1234/0/2_before_intensor/after/intensor0.bin",
        "0_1234/0/2_Prefill_layer/before/other.bin",
        "0_1234/0/before/intensor0/1_Gather/middle/intensor0.bin",
    ],
)
def test_only_the_last_two_components_say_what_a_tensor_is(driver: Driver, path: str) -> None:
    driver.save(path)
    counters = driver.finish()
    assert not driver.output.exists()
    assert sum(counters.values()) == 0
    assert driver.said() == ""


def test_an_operation_may_be_called_like_a_tensor(driver: Driver) -> None:
    driver.save("0_1234/0/2_add_after_norm/1_outtensor/before/intensor0.bin")
    driver.finish()
    assert driver.rows()[0]["Op Name"] == "add_after_norm/outtensor"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/0_1/0/2_A/before/intensor0.bin",
        "0_1/0/2_A/before/",
        "intensor0.bin",
        "0_1/0/before/intensor0.bin",
    ],
)
def test_a_path_that_no_host_gives_is_a_counted_loss(driver: Driver, path: str) -> None:
    driver.save(path)
    driver.save(path)
    counters = driver.finish()
    assert counters["bad_path"] == 2
    assert not driver.output.exists()
    assert len([line for line in driver.said().splitlines() if "lost (bad_path)" in line]) == 1


def test_parameters_are_stored_as_given_in_a_line(driver: Driver) -> None:
    driver.save_param("0_1234/0/2_Prefill_layer/0_Linear/op_param.json", b'{"transposeA":false}')
    driver.finish()
    stored = driver.data / "0_1234/0/2_Prefill_layer/0_Linear/op_param.json"
    assert stored.read_bytes() == b'{"transposeA":false}\n'


def test_modes(driver: Driver) -> None:
    driver.save()
    driver.finish()
    for path in driver.output.rglob("*"):
        assert path.stat().st_mode & 0o027 == 0 or path.stat().st_mode & 0o7777 in (0o750, 0o640), path


# ---- names ----


@pytest.mark.parametrize(
    ("name", "on_disk"),
    [
        (b"Mlp<Silu>:0", b"2_Mlp<Silu>:0"),
        ("注意力".encode(), "2_注意力".encode()),
        (b"nul\0byte", b"2_nul%00byte"),
        (b'say "a, b"', b'2_say "a, b"'),
        (b"two\nlines", b"2_two\nlines"),
        (b"\xff\xfe", b"2_\xff\xfe"),
        (b"=1+2", b"2_=1+2"),
    ],
)
def test_odd_names(driver: Driver, name: bytes, on_disk: bytes) -> None:
    driver.save(b"0_1234/0/2_" + name + b"/before/intensor0.bin")
    assert driver.finish()["tensors_saved"] == 1
    (row,) = driver.rows()
    assert os.fsencode(row["Op Type"]) == name
    stored = os.fsencode(row["Tensor Path"])
    assert stored == os.fsencode(driver.data) + b"/0_1234/0/" + on_disk + b"/before/intensor0.bin"
    assert os.path.isfile(stored)  # noqa: PTH113  (Path takes no bytes)


@pytest.mark.parametrize(("component", "on_disk"), [(".", "%2E"), ("..", "%2E%2E")])
def test_dots_lead_nowhere(driver: Driver, component: str, on_disk: str) -> None:
    driver.save(f"0_1234/0/2_A/{component}/{component}/before/intensor0.bin")
    driver.save(f"{component}/{component}/2_A/before/intensor0.bin")
    assert driver.finish()["tensors_saved"] == 2
    assert (driver.data / "0_1234/0/2_A" / on_disk / on_disk / "before/intensor0.bin").is_file()
    assert (driver.data / on_disk / on_disk / "2_A/before/intensor0.bin").is_file()
    assert driver.rows()[0]["Op Name"] == f"A/{component}/{component}"


@pytest.mark.parametrize(
    ("character", "count"), [("x", 300), ("é", 150), ("aé", 100), ("注", 100), ("x", 253), ("x", 254)]
)
def test_long_names_are_cut_at_a_character(driver: Driver, character: str, count: int) -> None:
    name = character * count
    component = f"2_{name}"
    driver.save(f"0_1234/0/{component}/before/intensor0.bin")
    driver.finish()
    (row,) = driver.rows()
    assert row["Op Name"] == name
    raw = component.encode()
    cut = raw[:200].decode(errors="ignore") + "~" + hashlib.sha256(raw).hexdigest()[:16]
    on_disk = component if len(raw) <= 255 else cut
    assert row["Tensor Path"] == str(driver.data / "0_1234/0" / on_disk / "before/intensor0.bin")
    assert Path(row["Tensor Path"]).is_file()


def test_deep_trees(driver: Driver) -> None:
    folder = "0_1234/0/" + "/".join(f"{n}_Operation" for n in range(40))
    for leaf in ("a", "b"):
        driver.save(f"{folder}/0_{leaf}/before/intensor0.bin")
        driver.save(f"{folder}/before/intensor{leaf}.bin")
    assert driver.finish()["tensors_saved"] == 4
    assert len([path for path in saved_files(driver.data / "0_1234") if path.suffix == ".bin"]) == 4


@pytest.mark.parametrize("folder", ["with blank", "c++", "目录", "a\nb"])
def test_odd_output_folders(start: StartDriver, tmp_path: Path, folder: str) -> None:
    driver = start(output=tmp_path / folder / "new")
    driver.save()
    driver.finish()
    assert Path(driver.rows()[0]["Tensor Path"]).read_bytes() == (driver.data / INPUT).read_bytes()


def test_fields_that_a_spreadsheet_would_execute_are_quoted(driver: Driver) -> None:
    driver.save("-1_1234/0/2_@sum/before/intensor0.bin", np.array([-1.5], FLOAT).tobytes())
    driver.finish()
    line = (driver.data / "-1_1234/0/statistic.csv").read_text().splitlines()[1]
    assert line.startswith('"-1_1234",0,"@sum","@sum",2,')
    assert ",-1.5,-1.5,-1.5,1.5," in line


# ---- order, threads, queue ----


def rows_by_operation(path: Path) -> dict[str, list[dict[str, str]]]:
    operations = defaultdict(list)
    for row in read_rows(path):
        operations[row["Op Id"]].append(row)
    return operations


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
def test_twelve_threads_two_hundred_rounds(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("threads 12 200 64")
    counters = driver.finish()
    assert counters["tensors_saved"] == 2400
    assert counters["bytes_saved"] == 2400 * 64
    assert counters["bytes_queued"] == 0
    for number in range(200):
        rows = read_rows(driver.own / str(number) / "statistic.csv")
        assert sorted(int(row["Op Id"]) for row in rows) == list(range(12))
        for row in rows:
            assert read_bin(Path(row["Tensor Path"]))[1] == bytes([int(row["Op Id"])]) * 64
    assert not loose_ends(driver.output)


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
def test_twelve_threads_into_one_file(start: StartDriver, queue: str) -> None:
    """One header, every row whole, and the rows of each thread in the order of its calls."""
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("threads-one-round 12 200 64")
    driver.finish()
    lines = (driver.own / "0" / "statistic.csv").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("Device and PID") for line in lines) == 1
    assert {line.count(",") for line in lines} == {14}
    rows = read_rows(driver.own / "0" / "statistic.csv")
    assert len(rows) == 2400
    for thread in range(12):
        mine = [int(row["Index"]) for row in rows if row["Op Id"] == str(thread)]
        assert mine == list(range(200))


@pytest.mark.parametrize("queue", ["64 MiB", "20000", "0"])
@pytest.mark.parametrize("writers", ["1", "7"])
def test_rows_come_in_call_order(start: StartDriver, queue: str, writers: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS=writers)
    sizes = [0 if number % 7 else 60_000 for number in range(300)]
    for number, size in enumerate(sizes):
        path = f"0_1234/{number % 3}/2_A/before/intensor{number}.bin"
        driver.save(path, b"\1" * size, dtype=4)
    driver.finish()
    for number in range(3):
        assert [int(row["Index"]) for row in driver.rows(f"0_1234/{number}")] == list(range(number, 300, 3))


@pytest.mark.parametrize("queue", ["64 MiB", "3000", "0"])
def test_the_later_save_to_a_path_stays(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue, ATBPROBE_WRITERS="4")
    driver.ask("same 500 1000")
    driver.finish()
    stored = read_bin(driver.own / "0/0_WordEmbedding/before/intensor0.bin")[1]
    assert int.from_bytes(stored[:4], "little") == 499
    assert len(read_rows(driver.own / "0/statistic.csv")) == 500


def test_a_small_queue_loses_nothing(start: StartDriver) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES="2 MiB", ATBPROBE_WRITERS="2")
    driver.ask(f"burst 60 {1 << 20}")
    driver.save(data=bytes(5 << 20), dtype=4, dims=str(5 << 20))
    counters = driver.finish()
    assert counters["tensors_saved"] == 61
    assert counters["bytes_saved"] == 65 << 20
    assert "the queue of 2097152 bytes is full" in driver.said()
    assert len(read_rows(driver.own / "0/statistic.csv")) == 60


def test_a_full_queue_without_progress_lets_the_caller_go(driver: Driver) -> None:
    assert json.loads(driver.ask("stall")) == {
        "first": 1,
        "too_large": 1,
        "stalled": 1,
        "again": 1,
        "waited": 1,
    }


def test_calls_after_the_drain_are_carried_out_by_their_caller(driver: Driver) -> None:
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.ask("drain")
    counters = driver.save("0_1234/0/2_A/before/intensor1.bin")
    assert counters["tensors_saved"] == 2
    assert [row["Index"] for row in driver.rows()] == ["0", "1"]


def test_a_process_that_saves_nothing_leaves_no_trace(driver: Driver) -> None:
    assert sum(driver.finish().values()) == 0
    assert not driver.output.exists()
    assert driver.said() == ""


def test_announce_makes_the_folder_and_says_so_once(driver: Driver) -> None:
    driver.ask("announce")
    assert driver.data.is_dir()
    driver.ask("announce")
    driver.finish()
    line = "[atbprobe] WARNING: Ready to dump ATB data, the running speed of the model will be affected\n"
    assert driver.said() == line


def test_an_output_folder_that_cannot_be_made(start: StartDriver, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    driver = start(output=tmp_path / "file")
    driver.ask("announce")
    driver.save()
    driver.save()
    counters = driver.finish()
    assert counters["write_failed"] == 2
    assert counters["tensors_saved"] == 0
    assert driver.said().count("Not a directory") == 2  # at announce, and at the first loss


# ---- ends ----


def test_fork(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="2")
    driver.ask("burst 20 1000")
    child, status = (int(word) for word in driver.ask("fork 30 1000").split())
    assert status == 0
    driver.finish()
    assert len(read_rows(driver.own / "0/statistic.csv")) == 20
    rows = read_rows(driver.data / f"0_{child}" / "0/statistic.csv")
    assert len(rows) == 30
    assert all(f"/0_{child}/" in row["Tensor Path"] for row in rows)
    assert len([path for path in saved_files(driver.data) if path.suffix == ".bin"]) == 50


@pytest.mark.parametrize("end", ["_exit", "kill"])
def test_sudden_end(start: StartDriver, end: str) -> None:
    driver = start(ATBPROBE_WRITERS="3")
    driver.ask(f"burst 50 {1 << 20}")
    driver.ask(end)
    assert driver.process.wait() in (0, -signal.SIGKILL)
    files = saved_files(driver.data) if driver.data.exists() else []
    written = {str(path) for path in files if path.suffix == ".bin"}
    table = driver.own / "0/statistic.csv"
    rows = read_rows(table) if table.exists() else []
    assert {row["Tensor Path"] for row in rows} <= written


def test_killed_in_the_middle_of_a_large_file(start: StartDriver) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES="0")
    command = f"same 1000 {64 << 20}\n".encode()
    driver.stdin.write(command)
    driver.stdin.flush()
    while not loose_ends(driver.output):
        assert driver.process.poll() is None
    driver.process.kill()
    driver.process.wait()
    for path in saved_files(driver.data):
        assert path.suffix == ".csv" or len(read_bin(path)[1]) == 64 << 20


# ---- disks ----


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here (not root)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        driver = start(output=disk)
        paths = [f"0_1234/0/2_A/before/intensor{number}.bin" for number in range(40)]
        for path in paths:
            driver.save(path, bytes(100_000), dtype=4)
        counters = driver.counters("idle")
        assert counters["no_space"] > 0
        assert counters["no_space"] + counters["tensors_saved"] == len(paths)
        stored = [path for path in saved_files(driver.data) if path.suffix == ".bin"]
        assert len(stored) == counters["tensors_saved"]
        assert {row["Tensor Path"] for row in driver.rows()} - {"N/A"} == {str(path) for path in stored}
        assert not loose_ends(driver.output)
        assert driver.said().count("lost (no_space") == 1

        for file in stored:
            file.unlink()
        driver.save("0_1234/0/2_A/after/outtensor0.bin", bytes(100_000), dtype=4)
        after = driver.finish()
        assert after["tensors_saved"] == counters["tensors_saved"] + 1
        assert after["no_space"] == counters["no_space"]
        assert driver.rows()[-1]["Input/Output"] == "output"
        assert f"{counters['no_space']} of the selected tensors" in driver.said()


@pytest.mark.parametrize("queue", ["64 MiB", "0"])
def test_a_limit_on_file_sizes_does_not_end_the_host(start: StartDriver, queue: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=queue)
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (50_000, 50_000))
    driver.save("0_1234/0/2_A/before/intensor0.bin", bytes(100_000), dtype=4)
    driver.save("0_1234/0/2_A/before/intensor1.bin", bytes(10_000), dtype=4)
    counters = driver.finish()
    assert counters["write_failed"] == 1
    assert counters["tensors_saved"] == 1
    lost, saved = driver.rows()
    assert lost["Tensor Path"] == "N/A"
    assert lost["Max"] == "0"
    assert len(read_bin(Path(saved["Tensor Path"]))[1]) == 10_000
    assert not loose_ends(driver.output)


def test_a_row_is_written_whole_or_not_at_all(start: StartDriver) -> None:
    driver = start(ATBPROBE_WRITERS="1")
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (1_000, 1_000))
    for number in range(20):
        driver.save(f"0_1234/0/2_A/before/intensor{number}.bin", tasks=STATISTICS)
    counters = driver.finish()
    rows = driver.rows()
    assert 0 < len(rows) < 20
    assert counters["tensors_saved"] == len(rows)
    assert counters["write_failed"] == 20 - len(rows)


@pytest.mark.parametrize("place", ["0_1234", "0_1234/0", "0_1234/0/2_A", "0_1234/0/2_A/before"])
def test_a_planted_link_leads_nowhere(start: StartDriver, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    driver = start()
    if place != "0_1234":
        driver.save("0_1234/9/2_A/before/intensor0.bin")
        driver.ask("idle")
    link = driver.data / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.finish()
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["2_A/before/intensor0.bin", "statistic.csv"])
def test_a_planted_link_to_a_file_is_not_written_through(start: StartDriver, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    driver = start()
    driver.save("0_1234/9/2_A/before/intensor0.bin")
    driver.ask("idle")
    link = driver.data / "0_1234/0" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    driver.save("0_1234/0/2_A/before/intensor0.bin")
    driver.finish()
    assert victim.read_text() == "untouched"
    assert len(read_bin(driver.data / "0_1234/0/2_A/before/intensor0.bin")[1]) == 4


@pytest.mark.parametrize("part", ["output", "process", "round"])
def test_an_output_folder_that_is_cleared_while_the_model_runs(driver: Driver, part: str) -> None:
    driver.save()
    driver.ask("idle")
    cleared = {
        "output": driver.output,
        "process": driver.data / "0_1234",
        "round": driver.data / "0_1234/0",
    }[part]
    cleared.rename(driver.output.with_name("moved"))
    subprocess.run(["rm", "-r", driver.output.with_name("moved")], check=True)
    driver.save()
    counters = driver.finish()
    assert counters["tensors_saved"] == 2
    assert len(driver.rows()) == 1
    assert read_bin(driver.data / INPUT)[0]["dims"] == "1"


def test_a_moved_output_folder_is_made_anew(driver: Driver) -> None:
    driver.save()
    driver.ask("idle")
    moved = driver.output.with_name("first")
    driver.output.rename(moved)
    driver.save()
    driver.finish()
    assert len(driver.rows()) == 1
    assert len(read_rows(moved / "atb_dump_data/data/0_1234/0/statistic.csv")) == 1


# ---- whose folder ----


def test_a_folder_of_a_living_process_is_not_shared(start: StartDriver, tmp_path: Path) -> None:
    first = start(output=tmp_path / "shared")
    second = start(output=tmp_path / "shared")
    first.save()
    first.ask("idle")
    second.save()
    second.finish()
    first.finish()
    (row,) = second.rows("0_1234.1/0")
    assert row["Device and PID"] == "0_1234"
    assert row["Tensor Path"] == str(second.data / "0_1234.1" / INPUT.removeprefix("0_1234/"))
    assert len(first.rows()) == 1
    assert "0_1234 belongs to another process" in second.said()


def test_a_folder_of_a_dead_process_is_moved_aside(start: StartDriver, tmp_path: Path) -> None:
    for _ in range(3):
        driver = start(output=tmp_path / "shared")
        driver.save()
        driver.finish()
    assert sorted(path.name for path in driver.data.iterdir()) == ["0_1234", "0_1234.old1", "0_1234.old2"]
    assert len(driver.rows()) == 1
    assert "0_1234 of a process that has ended was moved to 0_1234.old2" in driver.said()


def test_a_folder_without_an_owner_is_left_alone(driver: Driver) -> None:
    foreign = driver.data / "0_1234/0"
    foreign.mkdir(parents=True)
    (foreign / "statistic.csv").write_text("of another tool")
    driver.save()
    driver.finish()
    assert (foreign / "statistic.csv").read_text() == "of another tool"
    assert len(driver.rows("0_1234.1/0")) == 1


# ---- environment and messages ----


def answer_of(driver: Driver) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(driver.ask("environment"))
    return answer


def test_environment_defaults(start: StartDriver) -> None:
    answer = answer_of(start())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < answer["queue_bytes"] <= min(1 << 30, memory // 8)
    assert answer["writers"] == min(4, len(os.sched_getaffinity(0)))
    assert answer["log_level"] == 2
    assert answer["config"] == ""


@pytest.mark.parametrize(
    ("text", "number"), [("12345", 12345), ("8 MiB", 8 << 20), ("2GiB", 2 << 30), (" 1 KiB ", 1024), ("0", 0)]
)
def test_queue_bytes(start: StartDriver, text: str, number: int) -> None:
    assert answer_of(start(ATBPROBE_QUEUE_BYTES=text))["queue_bytes"] == number


@pytest.mark.parametrize("text", ["-1", "many", "8 Mib", "99999999999999999999", "99999999999 GiB", "1.5"])
def test_queue_bytes_that_are_none(start: StartDriver, text: str) -> None:
    driver = start(ATBPROBE_QUEUE_BYTES=text)
    assert answer_of(driver)["queue_bytes"] == answer_of(start())["queue_bytes"]
    assert f"ATBPROBE_QUEUE_BYTES={text} is not understood" in driver.said()


def test_log_level_silences(start: StartDriver) -> None:
    driver = start(ATB_AIT_LOG_LEVEL="5")
    driver.ask("announce")
    driver.save("")
    driver.finish()
    assert driver.said() == ""


def test_messages_are_single_printable_lines(driver: Driver) -> None:
    driver.save("bad\n\x1b[31m" + "x" * 5000)
    driver.finish()
    lines = driver.said().splitlines()
    assert all(re.fullmatch(r"\[atbprobe\] [A-Z]+: [ -~]*", line) for line in lines)
    assert "bad\\x0a\\x1b[31m" in lines[0]
    assert len(lines[0]) < 2000
