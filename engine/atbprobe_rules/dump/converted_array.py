"""What becomes of a tensor in a file format that does not hold its type.

| type | npy, npz | safetensors |
|---|---|---|
| bf16, float8_e5m2, float8_e4m3fn, float8_e8m0 | float32 | as it is |
| hifloat8, float6_e3m2, float6_e2m3, float4_e2m1, float4_e1m2 | float32 | float32 |
| int4 | int8 | int8 |
| uint1 | uint8 | uint8 |
| complex32 | complex64 | complex64 |
| complex128 | as it is | float64 with an axis of 2 more: real and imaginary part |
| string, undefined | the bytes, one-dimensional | the bytes, one-dimensional |

All but the last of these keep every value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import ml_dtypes
import numpy as np

from atbprobe_rules.dump.element_types import Array
from atbprobe_rules.dump.tensor import Tensor


class FileFormat(Enum):
    """What dumps can be converted to; the value is the ending of the files, too."""

    NPY = "npy"
    NPZ = "npz"
    SAFETENSORS = "safetensors"


@dataclass(frozen=True)
class ConvertedArray:
    """An array that the format holds; `type_name` is what it is called there, `dtype` what it was in the dump."""

    array: Array
    dtype: str
    type_name: str


_SAME = {(name, name) for name in ("float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
_SAME |= {("float", "float32"), ("double", "float64"), ("bool", "bool"), ("bf16", "bfloat16")}
_SAME |= {("complex64", "complex64"), ("complex128", "complex128")}
_SAME |= {(name, f"{name}{end}") for name, end in (("float8_e5m2", ""), ("float8_e4m3fn", ""), ("float8_e8m0", "fnu"))}

_IN_SAFETENSORS = {
    np.dtype(kind)
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu)
}


def is_same_type(dtype: str, type_name: str) -> bool:
    """Say whether a type of a dump is this one, but for its name."""
    return (dtype, type_name) in _SAME


def converted_array(tensor: Tensor, file_format: FileFormat) -> ConvertedArray:
    """Return the array for a format, read anew; raises DumpError if the elements cannot be told, as `Tensor.array`."""
    if not tensor.element_type.is_readable:
        return ConvertedArray(tensor.stored, tensor.dtype, "bytes")
    array = tensor.read()
    if file_format is FileFormat.SAFETENSORS:
        if array.dtype in _IN_SAFETENSORS:
            return ConvertedArray(array, tensor.dtype, array.dtype.name)
        if array.dtype == np.complex128:
            parts = np.stack([array.real, array.imag], axis=-1)
            return ConvertedArray(parts, tensor.dtype, "float64 parts")
    if array.dtype == ml_dtypes.int4:
        array = array.astype(np.int8)
    elif array.dtype.isbuiltin != 1:
        array = array.astype(np.float32)
    return ConvertedArray(array, tensor.dtype, array.dtype.name)
