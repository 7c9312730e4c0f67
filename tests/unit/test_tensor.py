"""Tensors as arrays: every type, packed and not, in blocks and at once; and what numpy and a notebook make of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike

import atbprobe_rules
from atbprobe_rules.dump.element_types import ELEMENT_TYPES, element_type_of, format_name
from dump_files import bin_file, put
from narrow_values import NARROW

PLAIN: dict[int, DTypeLike] = {
    0: np.float32,
    1: np.float16,
    2: np.int8,
    3: np.int32,
    4: np.uint8,
    6: np.int16,
    7: np.uint16,
    8: np.uint32,
    9: np.int64,
    10: np.uint64,
    11: np.float64,
    16: np.complex64,
    17: np.complex128,
    27: ml_dtypes.bfloat16,
}
SMALL_ARRAYS = {
    29: ml_dtypes.int4,
    35: ml_dtypes.float8_e5m2,
    36: ml_dtypes.float8_e4m3fn,
    37: ml_dtypes.float8_e8m0fnu,
    38: ml_dtypes.float6_e3m2fn,
    39: ml_dtypes.float6_e2m3fn,
    40: ml_dtypes.float4_e2m1fn,
}
one_folder_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def loaded(folder: Path, data: bytes, dtype: int, dims: str) -> atbprobe_rules.Tensor:
    return atbprobe_rules.load(put(folder / "intensor0.bin", bin_file(data, dtype, dims)))


def test_every_type_is_tried_here() -> None:
    assert set(ELEMENT_TYPES) == {*PLAIN, *NARROW, -1, 12, 13, 33}


@pytest.mark.parametrize("dtype", PLAIN)
def test_plain_types_are_numpys(tmp_path: Path, dtype: int) -> None:
    values = np.arange(-3, 3).astype(PLAIN[dtype])
    tensor = loaded(tmp_path, values.tobytes(), dtype, "3,2")
    assert tensor.array.dtype == values.dtype
    assert np.array_equal(tensor, values.reshape(3, 2))


@pytest.mark.parametrize("dtype", sorted(NARROW))
def test_every_code(tmp_path: Path, dtype: int) -> None:
    bits, table = NARROW[dtype]
    tensor = loaded(tmp_path, bytes(range(2**bits)), dtype, str(2**bits))
    read = np.asarray(tensor).astype(np.float64)
    np.testing.assert_array_equal(read, np.array(table, np.float64))
    assert np.array_equal(np.signbit(read[~np.isnan(read)]), np.signbit(np.array(table)[~np.isnan(read)]))
    if dtype in SMALL_ARRAYS:
        assert tensor.array.dtype == SMALL_ARRAYS[dtype]


@pytest.mark.parametrize("dtype", sorted(NARROW))
@one_folder_for_all_examples
@given(data=st.data())
def test_blocks_are_the_same_as_all_at_once(tmp_path: Path, dtype: int, data: st.DataObject) -> None:
    bits, table = NARROW[dtype]
    codes = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=200))
    behind = data.draw(st.integers(0, 255))
    stored = bytes(codes)
    if bits in (1, 4) and data.draw(st.booleans()):
        whole = sum(code << (bits * index) for index, code in enumerate(codes))
        rest = len(codes) * bits % 8
        whole += (behind >> rest << rest << (len(codes) * bits // 8 * 8)) if rest else 0
        stored = whole.to_bytes(-(-len(codes) * bits // 8), "little")
    elif bits < 8:  # what is above an element in its byte does not count
        stored = bytes(code | (behind << bits & 0xFF) for code in codes)
    tensor = loaded(tmp_path, stored, dtype, str(len(codes)))
    expected = np.array([table[code] for code in codes], np.float64)
    np.testing.assert_array_equal(tensor.array.astype(np.float64), expected)
    blocks = [np.empty(0), *(block.astype(np.float64) for block in tensor.blocks(data.draw(st.integers(1, 64))))]
    np.testing.assert_array_equal(np.concatenate(blocks), expected)


@pytest.mark.parametrize("dtype", PLAIN)
def test_blocks_of_plain_types(tmp_path: Path, dtype: int) -> None:
    values = np.arange(-50, 51).astype(PLAIN[dtype])
    blocks = list(loaded(tmp_path, values.tobytes(), dtype, "101").blocks(100))
    assert len(blocks) > 1
    assert max(block.nbytes for block in blocks) <= 100
    np.testing.assert_array_equal(np.concatenate(blocks), values)


def test_truth_and_complex_halves(tmp_path: Path) -> None:
    truth = loaded(tmp_path, b"\0\1\2\xff", 12, "4")
    assert truth.array.tolist() == [False, True, True, True]
    halves = loaded(tmp_path, np.array([1, -2, np.inf, 0.5], np.float16).tobytes(), 33, "2,1")
    assert halves.array.tolist() == [[1 - 2j], [complex(np.inf, 0.5)]]


def test_padding_is_in_the_elements_alone(tmp_path: Path) -> None:
    """A format with padding has more bytes than the shape says."""
    tensor = loaded(tmp_path, np.arange(4, dtype=np.float32).tobytes(), 0, "3")
    assert tensor.elements.tolist() == [0, 1, 2, 3]
    with pytest.raises(atbprobe_rules.DumpError, match="16 bytes of data are not those of 3 elements"):
        _ = tensor.array


def test_scalars_and_empty_tensors(tmp_path: Path) -> None:
    scalar = loaded(tmp_path, np.float32(2.5).tobytes(), 0, "")
    assert (scalar.shape, scalar.ndim, scalar.size, float(np.asarray(scalar))) == ((), 0, 1, 2.5)
    with pytest.raises(TypeError):
        len(scalar)
    empty = loaded(tmp_path, b"", 1, "0,128")
    assert (empty.shape, len(empty), list(empty.blocks())) == ((0, 128), 0, [])
    assert np.asarray(empty).shape == (0, 128)


def test_numpy_takes_it_for_an_array(tmp_path: Path) -> None:
    tensor = loaded(tmp_path, np.arange(6, dtype=np.float32).tobytes(), 0, "2,3")
    assert np.abs(tensor).max() == 5
    assert np.array(tensor, dtype=np.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor[1, 2] == 5
    assert [row.tolist() for row in tensor] == [[0, 1, 2], [3, 4, 5]]
    copy = np.array(tensor)
    copy[0, 0] = 9
    assert tensor[0, 0] == 0
    with pytest.raises(ValueError, match="without a copy"):
        tensor.__array__(np.int64, copy=False)
    assert tensor.__array__(copy=False) is tensor.array


def test_its_names_are_those_of_the_csv(tmp_path: Path) -> None:
    tensor = atbprobe_rules.load(put(tmp_path / "x.bin", bin_file(b"\0" * 4, 27, "2", 29)))
    assert (tensor.dtype, tensor.format) == ("bf16", "fractal_nz")
    assert element_type_of(99).name == "undefined(99)"
    assert format_name(99) == "undefined(99)"


@pytest.mark.parametrize("name", ["<b>&.bin", "\x1b[31m.bin", "a\nb.bin"])
def test_a_notebook_shows_hostile_names_as_text(tmp_path: Path, name: str) -> None:
    tensor = atbprobe_rules.load(put(tmp_path / name, bin_file(np.float32(1).tobytes() * 1000, 0, "1000")))
    shown: Any = tensor._repr_html_()
    assert "1000" in shown
    assert "…" not in repr(tensor)
    for text in (shown, repr(tensor)):
        assert "\x1b" not in text
        assert "a\nb" not in text
    assert "<b>&" not in shown


def test_a_notebook_shows_the_beginning_of_what_is_large(tmp_path: Path) -> None:
    size = 1 << 40
    header = bin_file(b"", 0, str(size // 4)).replace(b"Length=0", b"Length=%d" % size)
    path = put(tmp_path / "intensor0.bin", header.replace(b"data=0,0", b"data=0,%d" % size))
    os.truncate(path, path.stat().st_size + size)
    assert "begins with [0. 0. 0." in atbprobe_rules.load(path)._repr_html_()


def test_a_notebook_shows_why_there_are_no_elements(tmp_path: Path) -> None:
    tensor = loaded(tmp_path, b"abc", 99, "3")
    assert "cannot be read" in tensor._repr_html_()
    assert "undefined(99) 3 nd, 3 bytes" in repr(tensor)
