"""What each code of a type of at most eight bits stands for, from the bits as specifications draw them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike


def hifloat8(code: int) -> float:
    """By the bits, as the table of the paper (arXiv 2409.16626) has them."""
    if code == 0x80:
        return math.nan
    sign, bits = (-1.0 if code & 0x80 else 1.0), f"{code & 0x7F:07b}"
    if bits == "1101111":
        return sign * math.inf
    if bits.startswith("0000"):
        return sign * 2.0 ** (int(bits, 2) - 23) if int(bits, 2) else 0.0
    prefix = next(prefix for prefix in ("11", "10", "01", "001", "0001") if bits.startswith(prefix))
    size = {"11": 4, "10": 3, "01": 2, "001": 1, "0001": 0}[prefix]
    field, mantissa = bits[len(prefix) : len(prefix) + size], bits[len(prefix) + size :]
    exponent = int("1" + field[1:], 2) * (-1 if field[0] == "1" else 1) if field else 0
    return float(sign * 2.0**exponent * (1 + int(mantissa, 2) / 2 ** len(mantissa)))


def float4_e1m2(code: int) -> float:
    return float((-1.0 if code & 8 else 1.0) * (code & 7) / 4)


def by_view(dtype: DTypeLike, bits: int) -> list[float]:
    codes = np.arange(2**bits, dtype=np.uint8)
    with np.errstate(all="ignore"):
        return [float(value) for value in codes.view(dtype).astype(np.float64)]


# The host's number: bits, and the value of each code.
NARROW: dict[int, tuple[int, list[float]]] = {
    29: (4, [*range(8), *range(-8, 0)]),
    30: (1, [0, 1]),
    34: (8, [hifloat8(code) for code in range(256)]),
    35: (8, by_view(ml_dtypes.float8_e5m2, 8)),
    36: (8, by_view(ml_dtypes.float8_e4m3fn, 8)),
    37: (8, by_view(ml_dtypes.float8_e8m0fnu, 8)),
    38: (6, by_view(ml_dtypes.float6_e3m2fn, 6)),
    39: (6, by_view(ml_dtypes.float6_e2m3fn, 6)),
    40: (4, by_view(ml_dtypes.float4_e2m1fn, 4)),
    41: (4, [float4_e1m2(code) for code in range(16)]),
}
