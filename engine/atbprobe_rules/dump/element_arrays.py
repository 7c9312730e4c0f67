"""How the elements of each data type become a numpy array.

A type that numpy or ml_dtypes has is viewed as it lies in memory; of the others each code has its value in a table.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from atbprobe_rules.dump.element_types import BOOL, COMPLEX32, FLOAT4_E1M2, HIFLOAT8, INT4, UINT1, ElementType

Array = NDArray[Any]
Bytes = NDArray[np.uint8]


def array_dtype(element_type: ElementType) -> np.dtype[Any]:
    """Return numpy's type of the array."""
    name = element_type.numpy_name
    return np.dtype(getattr(ml_dtypes, name, name))


def elements(element_type: ElementType, stored: Bytes, *, packed: bool) -> Array:
    """Return all elements of whole bytes, one-dimensional; a view where the type is viewed.

    Packed, these are a multiple of 8 / `bits`: what lies behind the last element of a tensor is for the caller to cut
    off.
    """
    if element_type.is_coded:
        bits = element_type.bits
        codes = _unpack(stored, bits) if packed else stored & np.uint8(2**bits - 1)
        return code_values(element_type)[codes]
    if element_type.number == BOOL:
        truth: Array = stored != 0
        return truth
    if element_type.number == COMPLEX32:
        return stored.view("<f2").astype(np.float32).view(np.complex64)
    viewed: Array = stored.view(array_dtype(element_type))
    return viewed


@functools.cache
def code_values(element_type: ElementType) -> Array:
    """Return the value of every code of a type that is coded, read-only."""
    values = _code_values(element_type)
    values.flags.writeable = False
    return values


def _code_values(element_type: ElementType) -> Array:
    if element_type.number == INT4:
        return np.array([*range(8), *range(-8, 0)], np.int8).astype(ml_dtypes.int4)
    if element_type.number == UINT1:
        return np.arange(2, dtype=np.uint8)
    if element_type.number == HIFLOAT8:
        return np.array([_hifloat8(code) for code in range(256)], np.float32)
    if element_type.number == FLOAT4_E1M2:
        # Like float4_e2m1 with exponent bias 1, subnormal numbers and no infinities, so a code counts quarters.
        magnitudes = np.arange(8, dtype=np.float32) / 4
        return np.concatenate([magnitudes, -magnitudes])
    return np.arange(2**element_type.bits, dtype=np.uint8).view(array_dtype(element_type))


def _unpack(stored: Bytes, bits: int) -> Bytes:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes: Bytes = (stored[:, None] >> shifts) & np.uint8(2**bits - 1)
    return codes.reshape(-1)


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
