"""Every element type and format that the host knows, and some that it does not: files and names, side by side."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from compared import Compared
from differences import (
    EMPTY_TENSOR,
    LARGE_INTEGER,
    NOT_DECODED,
    NOT_DECODED_TYPES,
    SIX_DECIMALS,
    UNDEFINED_NAME,
    UNQUOTED,
)
from library_run import OURS, PEER, Dump, Library, caller_of, collect
from model_runs import EVERYTHING
from probed_host import NativeFile
from side_by_side import compare_complete

pytestmark = pytest.mark.peer

ELEMENTS = 8
# The host's number → name in statistic.csv, bits of an element.
TYPES: dict[str, tuple[str, int]] = {
    "0": ("float", 32), "1": ("float16", 16), "2": ("int8", 8), "3": ("int32", 32), "4": ("uint8", 8),
    "6": ("int16", 16), "7": ("uint16", 16), "8": ("uint32", 32), "9": ("int64", 64), "10": ("uint64", 64),
    "11": ("double", 64), "12": ("bool", 8), "13": ("string", 8), "16": ("complex64", 64), "17": ("complex128", 128),
    "27": ("bf16", 16), "29": ("int4", 4), "30": ("uint1", 1), "33": ("complex32", 32), "34": ("hifloat8", 8),
    "35": ("float8_e5m2", 8), "36": ("float8_e4m3fn", 8), "37": ("float8_e8m0", 8), "38": ("float6_e3m2", 8),
    "39": ("float6_e2m3", 8), "40": ("float4_e2m1", 4), "41": ("float4_e1m2", 4), "-1": ("undefined", 8),
}  # fmt: skip
FORMATS: dict[str, str] = {
    "0": "nchw", "1": "nhwc", "2": "nd", "3": "nc1hwc0", "4": "fractal_z", "12": "nc1hwc0_c04", "16": "hwcn",
    "27": "ndhwc", "29": "fractal_nz", "30": "ncdhw", "32": "ndc1hwc0", "33": "fractal_z_3d", "35": "nc", "47": "ncl",
    "50": "fractal_nz_c0_16", "51": "fractal_nz_c0_32",
}  # fmt: skip
# Numbers that stand for nothing, and texts that are no number.
UNKNOWN = ("5", "14", "15", "28", "42", "99", "-2", "2147483648", "x", "")
TYPES |= {text: (f"undefined({text})", 8) for text in UNKNOWN}
FORMATS |= {text: f"undefined({text})" for text in (*UNKNOWN, "-1")}

# (format, dtype, dims, data) of one SaveTensor call.
Save = tuple[str, str, str, bytes]


def data_of(dtype: str) -> bytes:
    """The bytes count up, which is a number without a surprise in every type."""
    return bytes(range(ELEMENTS * TYPES[dtype][1] // 8))


def save(library: Library, folder: Path, native_file: NativeFile, abi: int, saves: list[Save]) -> Dump:
    """Save the tensors as the inputs of one operation, in order."""
    place = library.place(folder, native_file, abi)
    library.take(place, {**EVERYTHING, "task": "all"})
    with caller_of(place) as host:
        operation = f"0_{host.pid}/0/0_Operation"
        assert host.call("IsTensorNeedSave")
        host.call("UpdateConfig")
        assert host.call("IsExecuteCountInRange", 0)
        assert host.call("IsSaveTensorInSpecificDir", operation)
        assert host.call("IsSaveTensorBefore")
        for index, (fmt, dtype, dims, data) in enumerate(saves):
            host.call("SaveTensor", fmt, dtype, dims, f"{operation}/before/intensor{index}.bin", data.hex())
    return collect(place, host.pid)


@pytest.fixture(params=[1, 0], ids=["abi1", "abi0"])
def abi(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def by_index(dump: Dump) -> list[tuple[str, ...]]:
    (rows,) = dump.rows.values()
    return sorted(rows, key=lambda row: int(row[6]))


def compare_saves(
    tmp_path: Path, native_file: NativeFile, abi: int, saves: list[Save], compared: Compared
) -> tuple[Dump, dict[str, int]]:
    """Return what ours left, and the differences."""
    count = itertools.count()
    ours = save(OURS, tmp_path, native_file, abi, saves)
    folders = (tmp_path / str(index) for index in count)
    differences = compare_complete(ours, lambda: save(PEER, next(folders), native_file, abi, saves), compared)
    return ours, differences


def test_every_type(tmp_path: Path, native_file: NativeFile, compared: Compared, abi: int) -> None:
    saves = [("2", dtype, f"{ELEMENTS // 2},2", data_of(dtype)) for dtype in TYPES]
    ours, differences = compare_saves(tmp_path, native_file, abi, saves, compared)
    assert [row[7] for row in by_index(ours)] == [name for name, _ in TYPES.values()]
    assert len([path for path in ours.files if path.endswith(".bin")]) == len(TYPES)
    assert differences.keys() == {SIX_DECIMALS, NOT_DECODED, UNDEFINED_NAME, UNQUOTED, LARGE_INTEGER}
    assert differences[NOT_DECODED] == len(NOT_DECODED_TYPES)
    assert differences[UNDEFINED_NAME] == differences[UNQUOTED] == 1


def test_every_format(tmp_path: Path, native_file: NativeFile, compared: Compared, abi: int) -> None:
    saves = [(fmt, "3", "8", data_of("3")) for fmt in FORMATS]
    ours, differences = compare_saves(tmp_path, native_file, abi, saves, compared)
    assert [row[8] for row in by_index(ours)] == list(FORMATS.values())
    assert differences.keys() == {SIX_DECIMALS}


def test_shapes(tmp_path: Path, native_file: NativeFile, compared: Compared, abi: int) -> None:
    """From a scalar to eight dimensions, and without any element."""
    full = ["", "1", "8", "2,4", "2,2,2", "1,1,1,1,2,1,1,4"]
    empty = ["0", "4,0", "0,0,0"]
    saves = [("2", "3", dims, data_of("3")[: 4 if dims in ("", "1") else 32]) for dims in full]
    saves += [("2", "3", dims, b"") for dims in empty]
    ours, differences = compare_saves(tmp_path, native_file, abi, saves, compared)
    assert [row[9] for row in by_index(ours)] == [dims.replace(",", "x") for dims in full + empty]
    assert differences.keys() == {SIX_DECIMALS, EMPTY_TENSOR}
    assert differences[EMPTY_TENSOR] == 2 * len(empty)  # a file and a row each
