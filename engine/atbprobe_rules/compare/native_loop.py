"""The native loop that compares two files of one type; it runs without the interpreter's lock.

`interposer/comparison` has the same structs and functions.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from atbprobe_rules.compare.pair_sums import PairSums
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import BOOL, ELEMENT_TYPES, ElementType
from atbprobe_rules.dump.tensor_file import TensorFile
from atbprobe_rules.installation import comparison_library

FLOAT_EPSILON = 2.0**-23
DOUBLE_EPSILON = 2.0**-52

_ROOM_BYTES = 512 << 10
"""What both sides are read into, part by part: it lies in the second cache."""

_CALL_ELEMENTS = 1 << 24
"""In one call: nobody waits longer for the end of a comparison that was given up."""

_NO_TYPE = (1 << 32) - 1
_MOST_DIMS_BYTES = 640
_GOLDEN = 1


class _ElementForm(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_uint32),
        ("is_by_value", ctypes.c_uint16),
        ("packed_bits", ctypes.c_uint16),
        ("table", ctypes.c_void_p),
        ("epsilon", ctypes.c_double),
    ]


class _ReadFailure(ctypes.Structure):
    _fields_ = [("side", ctypes.c_uint32), ("error", ctypes.c_int32), ("offset", ctypes.c_uint64)]

    side: int
    error: int
    offset: int


class _SmallPair(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_uint32),
        ("dims_length", ctypes.c_uint32),
        ("dims", ctypes.c_char * _MOST_DIMS_BYTES),
    ]

    dtype: int
    dims_length: int
    dims: bytes


class CancelledError(Exception):
    """The comparison has been given up."""


@dataclass(frozen=True)
class _Loop:
    """How the native loop takes a type; `table`, which `form` points to, is only kept alive."""

    form: _ElementForm
    table: Any = None


class SmallPair(NamedTuple):
    """Two tensors of the same type and shape, and what was added up over them."""

    element_type: ElementType
    shape: tuple[int, ...]
    sums: PairSums


def add_small_files(pairs: Sequence[tuple[str, str]]) -> list[SmallPair | None]:
    """Compare files at once of which golden's and target's are small, whole and alike.

    None, for `add_files` and its errors, where they are not, or are not just what the probe writes of a plain type.
    """
    count = len(pairs)
    sums = (PairSums * count)()
    found = (_SmallPair * count)()
    paths = (ctypes.c_char_p * (2 * count))(*(_path(file) for pair in pairs for file in pair))
    room = _room()
    forms = _plain_forms()
    _library().atbprobe_add_small_files(forms, len(forms), paths, count, room, len(room), sums, found)
    return [
        None
        if pair.dtype == _NO_TYPE
        else SmallPair(ELEMENT_TYPES[pair.dtype], _shape(pair.dims[: pair.dims_length]), of_pair)
        for pair, of_pair in zip(found, sums, strict=True)
    ]


def _path(file: str) -> bytes:
    """A name with NUL, where C would take the path to end, is none that a file can have."""
    return b"" if "\0" in file else os.fsencode(file)


@functools.lru_cache(maxsize=1024)
def _shape(dims: bytes) -> tuple[int, ...]:
    return tuple(map(int, dims.split(b","))) if dims else ()


def relative_epsilon(element_type: ElementType) -> float:
    """What stands for a golden value of zero in a relative error; of complex numbers it is that of their parts."""
    bits = element_type.bits // 2 if element_type.is_complex else element_type.bits
    return DOUBLE_EPSILON if element_type.is_integer or bits > 32 else FLOAT_EPSILON


def add_files(
    sums: PairSums, golden: TensorFile, target: TensorFile, cancelled: Callable[[], bool] = lambda: False
) -> None:
    """Add all elements of two tensors of one type, which must be readable, and of one number of bytes.

    DumpError or OSError if a file cannot be read, or is not any more what it was; CancelledError.
    """
    packed, count = golden.stored_elements()
    kind = golden.element_type
    bits = kind.bits if packed else 8 * kind.unpacked_bytes(1)
    loop = _loop_of(kind, packed)
    failure = _ReadFailure()
    room = _room()
    with golden.home.opened() as one, target.home.opened() as other:
        for begin in range(0, count, _CALL_ELEMENTS):
            if cancelled():
                raise CancelledError
            offset = begin * bits // 8
            places = (golden.home.header.length + offset, target.home.header.length + offset)
            part = min(_CALL_ELEMENTS, count - begin)
            if not _library().atbprobe_add_files(
                *(ctypes.byref(loop.form), one, places[0], other, places[1], part, room, len(room)),
                *(ctypes.byref(sums), ctypes.byref(failure)),
            ):
                raise _error(failure, golden if failure.side == _GOLDEN else target)


def _error(failure: _ReadFailure, tensor: TensorFile) -> Exception:
    assert failure.side != 0, "the library does not know a type that it should"
    if failure.error == 0:
        return tensor.home.cut_short(failure.offset)
    return DumpError(tensor.data_path, os.strerror(failure.error), failure.offset)


@functools.cache
def _loop_of(element_type: ElementType, packed: bool) -> _Loop:
    if _is_plain(element_type):
        return _Loop(_form(element_type))
    table = _values_of_bytes(element_type)
    packed_bits = element_type.bits if packed else 0
    epsilon = relative_epsilon(element_type)
    return _Loop(_ElementForm(_NO_TYPE, element_type.is_coded, packed_bits, table.ctypes.data, epsilon), table)


def _is_plain(element_type: ElementType) -> bool:
    """Whether the loop knows the type by its number, and needs no table."""
    is_small_float = element_type.bits == 8 and not element_type.is_integer
    return element_type.is_readable and not element_type.is_coded and not is_small_float


def _form(element_type: ElementType) -> _ElementForm:
    return _ElementForm(element_type.number, element_type.number == BOOL, 0, None, relative_epsilon(element_type))


@functools.cache
def _plain_forms() -> ctypes.Array[_ElementForm]:
    """By number, as far as there is a type of this number and it is plain."""
    kinds = (ELEMENT_TYPES.get(number) for number in range(max(ELEMENT_TYPES) + 1))
    none = _ElementForm(_NO_TYPE, 0, 0, None, 0.0)
    forms = [_form(kind) if kind is not None and _is_plain(kind) else none for kind in kinds]
    return (_ElementForm * len(forms))(*forms)


def _values_of_bytes(element_type: ElementType) -> Any:
    import numpy as np  # takes longer than much of what is compared

    from atbprobe_rules.dump.element_arrays import elements

    return elements(element_type, np.arange(256, dtype=np.uint8), packed=False).astype(np.float64)


_rooms = threading.local()


def _room() -> ctypes.Array[ctypes.c_char]:
    """Memory of this thread's own."""
    if not hasattr(_rooms, "room"):
        _rooms.room = ctypes.create_string_buffer(_ROOM_BYTES)
    room: ctypes.Array[ctypes.c_char] = _rooms.room
    return room


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(comparison_library()))
    pointer, size = ctypes.c_void_p, ctypes.c_uint64
    large, small = library.atbprobe_add_files, library.atbprobe_add_small_files
    large.restype, small.restype = ctypes.c_bool, None
    large.argtypes = [pointer, *([ctypes.c_int, size] * 2), size, pointer, size, pointer, pointer]
    small.argtypes = [pointer, ctypes.c_uint32, pointer, size, pointer, size, pointer, pointer]
    return library
