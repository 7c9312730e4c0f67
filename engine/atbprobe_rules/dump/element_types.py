"""The host's numbers for data types and formats, and how the elements of each type lie in a .bin.

The numbers are those of aclDataType and aclFormat of the Ascend runtime. A type of fewer than eight bits comes in one
of two ways, and the size of the data tells which: an element in the low bits of each byte, or packed without gaps, the
first element in the lowest bits. Six bits that are packed cross the bounds of bytes in an order that is not
documented, and are not read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ElementType:
    """One data type: the host's number and name for it, and what its elements become.

    `bits` are those of one element in the data; 0 where that is not known, and then nothing can be decoded.
    `numpy_name` is what numpy or ml_dtypes calls the type of the array. Elements of a type that `is_coded` are not
    viewed as they lie: each code of `bits` bits stands for a value.
    """

    number: int
    name: str
    bits: int = 0
    numpy_name: str = "uint8"
    is_coded: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether the elements can be told from the bytes at all."""
        return self.bits > 0

    @property
    def is_viewed(self) -> bool:
        """Whether the bytes are the array as they lie in memory."""
        return self.is_readable and not self.is_coded and self.number not in (BOOL, COMPLEX32)

    @property
    def is_integer(self) -> bool:
        """Whether every value is a whole number, by the type; those of bool are 0 and 1."""
        return self.name.startswith(("int", "uint", "bool"))

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

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


BOOL = 12
INT4 = 29
UINT1 = 30
COMPLEX32 = 33
HIFLOAT8 = 34
FLOAT4_E1M2 = 41

ELEMENT_TYPES: dict[int, ElementType] = {
    element_type.number: element_type
    for element_type in (
        ElementType(-1, "undefined"),
        ElementType(0, "float", 32, "<f4"),
        ElementType(1, "float16", 16, "<f2"),
        ElementType(2, "int8", 8, "int8"),
        ElementType(3, "int32", 32, "<i4"),
        ElementType(4, "uint8", 8, "uint8"),
        ElementType(6, "int16", 16, "<i2"),
        ElementType(7, "uint16", 16, "<u2"),
        ElementType(8, "uint32", 32, "<u4"),
        ElementType(9, "int64", 64, "<i8"),
        ElementType(10, "uint64", 64, "<u8"),
        ElementType(11, "double", 64, "<f8"),
        ElementType(BOOL, "bool", 8, "bool"),  # anything but zero is true
        ElementType(13, "string"),
        ElementType(16, "complex64", 64, "<c8"),
        ElementType(17, "complex128", 128, "<c16"),
        ElementType(27, "bf16", 16, "bfloat16"),
        ElementType(INT4, "int4", 4, "int4", is_coded=True),
        ElementType(UINT1, "uint1", 1, "uint8", is_coded=True),
        ElementType(COMPLEX32, "complex32", 32, "complex64"),  # two halves, which numpy has no type for
        ElementType(HIFLOAT8, "hifloat8", 8, "float32", is_coded=True),
        ElementType(35, "float8_e5m2", 8, "float8_e5m2"),
        ElementType(36, "float8_e4m3fn", 8, "float8_e4m3fn"),
        ElementType(37, "float8_e8m0", 8, "float8_e8m0fnu"),
        ElementType(38, "float6_e3m2", 6, "float6_e3m2fn", is_coded=True),
        ElementType(39, "float6_e2m3", 6, "float6_e2m3fn", is_coded=True),
        ElementType(40, "float4_e2m1", 4, "float4_e2m1fn", is_coded=True),
        ElementType(FLOAT4_E1M2, "float4_e1m2", 4, "float32", is_coded=True),
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
