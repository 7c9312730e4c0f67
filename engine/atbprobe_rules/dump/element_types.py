"""The host's numbers for data types and formats, and how the elements of each type become a numpy array.

The numbers are those of aclDataType and aclFormat of the Ascend runtime. A type that numpy or ml_dtypes has is viewed
as it lies in memory. One of fewer than eight bits comes in one of two ways, and the size of the data tells which: an
element in the low bits of each byte, or packed without gaps, the first element in the lowest bits. Six bits that are
packed cross the bounds of bytes in an order that is not documented, and are not read.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class ElementType:
    """One data type: the host's number and name for it, and what its elements become.

    `bits` are those of one element in the data; 0 where that is not known, and then nothing can be decoded.
    `array_dtype` is numpy's type of the array. `codes`, for types that are not viewed as they lie, makes the value of
    every code of `bits` bits, of `array_dtype`.
    """

    number: int
    name: str
    bits: int = 0
    array_dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.uint8))
    codes: Callable[[], Array] | None = None

    @property
    def is_readable(self) -> bool:
        """Whether the elements can be told from the bytes at all."""
        return self.bits > 0

    @property
    def is_viewed(self) -> bool:
        """Whether the bytes are the array as they lie in memory."""
        return self.is_readable and self.codes is None and self.number not in (BOOL, COMPLEX32)

    @property
    def can_be_packed(self) -> bool:
        """Whether several elements may share a byte."""
        return self.bits in (1, 4)

    def unpacked_bytes(self, count: int) -> int:
        """Return the bytes of `count` elements, none of which shares a byte with another."""
        return count * max(self.bits // 8, 1)

    def packed_bytes(self, count: int) -> int:
        """Return the bytes of `count` elements without gaps."""
        return -(-count * self.bits // 8)

    def elements(self, stored: Bytes, *, packed: bool) -> Array:
        """Return all elements of whole bytes, one-dimensional; a view where the type is viewed.

        Packed, these are a multiple of 8 / `bits`: what lies behind the last element of a tensor is for the caller to
        cut off.
        """
        if self.codes is not None:
            codes = _unpack(stored, self.bits) if packed else stored & np.uint8(2**self.bits - 1)
            return _values(self)[codes]
        if self.number == BOOL:
            truth: Array = stored != 0
            return truth
        if self.number == COMPLEX32:
            return stored.view("<f2").astype(np.float32).view(np.complex64)
        viewed: Array = stored.view(self.array_dtype)
        return viewed


def _unpack(stored: Bytes, bits: int) -> Bytes:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes: Bytes = (stored[:, None] >> shifts) & np.uint8(2**bits - 1)
    return codes.reshape(-1)


@functools.cache
def _values(element_type: ElementType) -> Array:
    assert element_type.codes is not None
    values = element_type.codes()
    values.flags.writeable = False
    return values


def _int4_codes() -> Array:
    return np.array([*range(8), *range(-8, 0)], np.int8).astype(ml_dtypes.int4)


def _viewed_codes(dtype: DTypeLike, bits: int) -> Callable[[], Array]:
    return lambda: np.arange(2**bits, dtype=np.uint8).view(dtype)


def _float4_e1m2_codes() -> Array:
    """Like float4_e2m1 with exponent bias 1, subnormal numbers and no infinities, so a code counts quarters."""
    magnitudes = np.arange(8, dtype=np.float32) / 4
    return np.concatenate([magnitudes, -magnitudes])


def _hifloat8_codes() -> Array:
    return np.array([_hifloat8(code) for code in range(256)], np.float32)


def _hifloat8(code: int) -> float:
    """As in "Ascend HiFloat8 Format for Deep Learning" (arXiv 2409.16626).

    After the sign a prefix tells how many bits the exponent has: 11, 10, 01, 001, 0001 for 4, 3, 2, 1, 0; 0000 for
    subnormal numbers. The exponent is a sign and a magnitude whose leading one is left out; the rest is the mantissa.
    """
    if code == 0x80:
        return math.nan
    sign, rest = (-1.0 if code & 0x80 else 1.0), code & 0x7F
    if rest == 0x6F:
        return sign * math.inf
    if rest < 8:
        return sign * 2.0 ** (rest - 23) if rest else 0.0
    exponent_bits, prefix_bits = ((rest >> 5) + 1, 2) if rest >= 0x20 else (1, 3) if rest >= 0x10 else (0, 4)
    mantissa_bits = 7 - prefix_bits - exponent_bits
    mantissa = rest & (2**mantissa_bits - 1)
    exponent = 0
    if exponent_bits:
        exponent_field = (rest >> mantissa_bits) & (2**exponent_bits - 1)
        leading_one = 2 ** (exponent_bits - 1)
        exponent = exponent_field | leading_one
        if exponent_field & leading_one:
            exponent = -exponent
    return math.copysign(math.ldexp(1 + mantissa / 2**mantissa_bits, exponent), sign)


def _plain(number: int, name: str, dtype: DTypeLike) -> ElementType:
    stored = np.dtype(dtype)
    return ElementType(number, name, stored.itemsize * 8, stored)


def _coded(number: int, name: str, bits: int, dtype: DTypeLike, codes: Callable[[], Array]) -> ElementType:
    return ElementType(number, name, bits, np.dtype(dtype), codes)


BOOL = 12
COMPLEX32 = 33

ELEMENT_TYPES: dict[int, ElementType] = {
    element_type.number: element_type
    for element_type in (
        ElementType(-1, "undefined"),
        _plain(0, "float", "<f4"),
        _plain(1, "float16", "<f2"),
        _plain(2, "int8", np.int8),
        _plain(3, "int32", "<i4"),
        _plain(4, "uint8", np.uint8),
        _plain(6, "int16", "<i2"),
        _plain(7, "uint16", "<u2"),
        _plain(8, "uint32", "<u4"),
        _plain(9, "int64", "<i8"),
        _plain(10, "uint64", "<u8"),
        _plain(11, "double", "<f8"),
        ElementType(BOOL, "bool", 8, np.dtype(np.bool_)),  # anything but zero is true
        ElementType(13, "string"),
        _plain(16, "complex64", "<c8"),
        _plain(17, "complex128", "<c16"),
        _plain(27, "bf16", ml_dtypes.bfloat16),
        _coded(29, "int4", 4, ml_dtypes.int4, _int4_codes),
        _coded(30, "uint1", 1, np.uint8, lambda: np.arange(2, dtype=np.uint8)),
        ElementType(COMPLEX32, "complex32", 32, np.dtype(np.complex64)),  # two halves, which numpy has no type for
        _coded(34, "hifloat8", 8, np.float32, _hifloat8_codes),
        _plain(35, "float8_e5m2", ml_dtypes.float8_e5m2),
        _plain(36, "float8_e4m3fn", ml_dtypes.float8_e4m3fn),
        _plain(37, "float8_e8m0", ml_dtypes.float8_e8m0fnu),
        _coded(38, "float6_e3m2", 6, ml_dtypes.float6_e3m2fn, _viewed_codes(ml_dtypes.float6_e3m2fn, 6)),
        _coded(39, "float6_e2m3", 6, ml_dtypes.float6_e2m3fn, _viewed_codes(ml_dtypes.float6_e2m3fn, 6)),
        _coded(40, "float4_e2m1", 4, ml_dtypes.float4_e2m1fn, _viewed_codes(ml_dtypes.float4_e2m1fn, 4)),
        _coded(41, "float4_e1m2", 4, np.float32, _float4_e1m2_codes),
    )
}

FORMATS = {
    0: "nchw",
    1: "nhwc",
    2: "nd",
    3: "nc1hwc0",
    4: "fractal_z",
    12: "nc1hwc0_c04",
    16: "hwcn",
    27: "ndhwc",
    29: "fractal_nz",
    30: "ncdhw",
    32: "ndc1hwc0",
    33: "fractal_z_3d",
    35: "nc",
    47: "ncl",
    50: "fractal_nz_c0_16",
    51: "fractal_nz_c0_32",
}


def element_type_of(number: int) -> ElementType:
    """Return the type of this number; one that is not readable, `undefined(N)`, for any other number."""
    return ELEMENT_TYPES.get(number) or ElementType(number, f"undefined({number})")


def format_name(number: int) -> str:
    """Return `nd`, `fractal_nz`, …; `undefined(N)` for any other number."""
    return FORMATS.get(number, f"undefined({number})")
