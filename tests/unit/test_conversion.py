"""Converting dumps: names, and types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy

import atbprobe_rules
from atbprobe_rules.dump.converted_array import FileFormat
from atbprobe_rules.dump.element_types import ELEMENT_TYPES
from conversions import FORMATS, ROUND, files_below, read_all, run, small_dump
from dump_files import bin_file, put
from narrow_values import NARROW


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return small_dump(tmp_path)


def test_npy_files_lie_as_the_dump_does(dump: Path, tmp_path: Path) -> None:
    done = run(dump, FileFormat.NPY, tmp_path / "out")
    assert (done.written, done.skipped, done.tensors, done.problems) == (4, 0, 4, [])
    assert files_below(tmp_path / "out") == [
        "0_1234/0/2_Layer/1_Norm/before/intensor0_x.npy",
        "0_1234/0/2_Layer/after/outtensor0.npy",
        "0_1234/0/2_Layer/before/intensor0.npy",
        "0_1234/1/2_Layer/before/intensor0.npy",
    ]
    place = tmp_path / "out/0_1234/0/2_Layer"
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    for name in ("before/intensor0.npy", "1_Norm/before/intensor0_x.npy"):
        np.testing.assert_array_equal(np.load(place / name), expected, strict=True)
    np.testing.assert_array_equal(np.load(place / "after/outtensor0.npy"), np.array([1.5, -2], np.float32), strict=True)


@pytest.mark.parametrize("file_format", [FileFormat.NPZ, FileFormat.SAFETENSORS])
def test_archives_by_round(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    done = run(dump, file_format, tmp_path / "out")
    end = file_format.value
    assert (done.written, done.tensors) == (2, 4)
    assert files_below(tmp_path / "out") == [f"0_1234/0.{end}", f"0_1234/1.{end}"]
    arrays = read_all(tmp_path / f"out/0_1234/0.{end}")
    assert set(arrays) == {"2_Layer/before/intensor0", "2_Layer/1_Norm/before/intensor0_x", "2_Layer/after/outtensor0"}
    np.testing.assert_array_equal(arrays["2_Layer/1_Norm/before/intensor0_x"], np.arange(6).reshape(2, 3))
    assert arrays["2_Layer/after/outtensor0"].tolist() == [1.5, -2]


@pytest.mark.parametrize("file_format", [FileFormat.NPZ, FileFormat.SAFETENSORS])
def test_one_archive_for_all(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / f"new/all.{file_format.value}"
    assert run(dump, file_format, path).written == 1
    assert "0_1234/1/2_Layer/before/intensor0" in read_all(path)
    assert len(read_all(path)) == 4
    assert run(dump / ROUND, file_format, path).written == 1
    assert "2_Layer/before/intensor0" in read_all(path)


def test_single_files(dump: Path, tmp_path: Path) -> None:
    first, second = dump / ROUND / "2_Layer/before/intensor0.bin", dump / ROUND / "../1/2_Layer/before/intensor0.bin"
    run(first, FileFormat.NPY, tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").shape == (2, 3)
    done = run([first, second, first], FileFormat.NPY, tmp_path / "out")
    assert done.written == 2
    assert files_below(tmp_path / "out") == ["intensor0.npy", "intensor0~2.npy"]
    assert np.load(tmp_path / "out/intensor0~2.npy") == 4
    with pytest.raises(ValueError, match=r"one \.npy holds one tensor, and there are 2"):
        run([first, second], FileFormat.NPY, tmp_path / "y.npy")
    run([first, second], FileFormat.NPZ, tmp_path / "y.npz")
    assert set(read_all(tmp_path / "y.npz")) == {"intensor0", "intensor0~2"}


@pytest.mark.parametrize("file_format", FORMATS)
def test_two_dumps_with_the_same_names(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    other = tmp_path / "other"
    put(other / ROUND / "2_Layer/before/intensor0.bin", bin_file(np.float32(8).tobytes()))
    done = run([dump, other, dump], file_format, tmp_path / "out")
    assert done.tensors == 5
    found = files_below(tmp_path / "out")
    assert len([name for name in found if "~2" in name]) == 1
    assert run([dump, other, dump], file_format, tmp_path / "out").written == 0
    rounds = [dump / ROUND, dump / ROUND / "../1"]
    done = run(rounds, file_format, tmp_path / "rounds")
    assert not [name for name in files_below(tmp_path / "rounds") if "~2" in name]


# ---- types ----


def of_every_type(folder: Path) -> Path:
    one = folder / "all/data/0_1/0"
    for number, kind in ELEMENT_TYPES.items():
        count = min(2**kind.bits, 16) if kind.bits else 16
        codes = bytes(range(count)) if number in NARROW else bytes(range(16))
        elements = count if number in NARROW else 16 * 8 // (kind.bits or 8)
        put(one / f"{max(number, 0)}_{kind.name}/before/intensor0.bin", bin_file(codes, number, str(elements)))
    return folder / "all"


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_type_keeps_its_values(tmp_path: Path, file_format: FileFormat) -> None:
    source = of_every_type(tmp_path)
    run(source, file_format, tmp_path / "out")
    for stored in atbprobe_rules.open_dump(source).tensors:
        tensor = stored.load()
        name = stored.full_name.removesuffix(".bin")
        if file_format is FileFormat.NPY:
            array = np.load(tmp_path / f"out/0_1/0/{name}.npy")
        elif file_format is FileFormat.NPZ:
            array = read_all(tmp_path / "out/0_1/0.npz")[name]
        else:
            array = read_safetensors(tmp_path / "out/0_1/0.safetensors")[name]
        if not tensor.element_type.is_readable:
            assert array.tobytes() == tensor.stored.tobytes()
            continue
        expected = tensor.array
        if file_format is FileFormat.SAFETENSORS and tensor.dtype == "complex128":
            array = array[..., 0] + 1j * array[..., 1]
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_array_equal(array.astype(wide), expected.astype(wide), strict=True)
        if file_format is not FileFormat.SAFETENSORS:
            assert array.dtype.isbuiltin == 1


def read_safetensors(path: Path) -> dict[str, Any]:
    """By the layout that is documented, since the library's own reader for numpy lacks the float8 types."""
    kinds = {"BF16": ml_dtypes.bfloat16, "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E4M3": ml_dtypes.float8_e4m3fn}
    kinds |= {"F8_E8M0": ml_dtypes.float8_e8m0fnu, "BOOL": np.bool_, "C64": np.complex64}
    found = {}
    for name, entry in safetensors.deserialize(path.read_bytes()):
        letter, bits = entry["dtype"][0], entry["dtype"][1:]
        kind = kinds.get(entry["dtype"]) or np.dtype(f"{letter.lower()}{int(bits) // 8}")
        found[name] = np.frombuffer(entry["data"], kind).reshape(entry["shape"])
    return found


def test_what_changes_is_counted(tmp_path: Path) -> None:
    types = {had: has for had, has in run(of_every_type(tmp_path), FileFormat.NPY, tmp_path / "out").types}
    assert (types["bf16"], types["int4"], types["complex128"], types["string"]) == (
        "float32",
        "int8",
        "complex128",
        "bytes",
    )
    types = {had: has for had, has in run(tmp_path / "all", FileFormat.SAFETENSORS, tmp_path / "out").types}
    assert (types["bf16"], types["float8_e8m0"], types["complex128"]) == ("bfloat16", "float8_e8m0fnu", "float64 parts")


def test_safetensors_tell_the_types_of_the_dump(dump: Path, tmp_path: Path) -> None:
    run(dump / ROUND, FileFormat.SAFETENSORS, tmp_path / "x.safetensors")
    with safetensors.safe_open(tmp_path / "x.safetensors", "np") as file:
        metadata = file.metadata()
    assert json.loads(metadata["atb"])["2_Layer/after/outtensor0"] == {"dtype": "bf16", "format": "nd"}
