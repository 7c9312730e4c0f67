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

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from atbprobe_rules.dump.element_arrays import array_dtype
from atbprobe_rules.dump.tensor import Tensor


class FileFormat(Enum):
    """What dumps can be converted to; the value is the ending of the files, too."""

    NPY = "npy"
    NPZ = "npz"
    SAFETENSORS = "safetensors"


@dataclass(frozen=True)
class ConvertedArray:
    """An array that the format holds, of this type and shape, whose elements are read in blocks.

    `dtype` is what the type was in the dump, `type_name` what it has become.
    """

    tensor: Tensor
    array_dtype: np.dtype[Any]
    shape: tuple[int, ...]
    type_name: str

    @property
    def dtype(self) -> str:
        return self.tensor.dtype

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.array_dtype.itemsize

    def blocks(self) -> Iterator[memoryview]:
        """Yield the elements in order, as bytes; DumpError if the file is not there any more as it was."""
        if not self.tensor.element_type.is_readable:
            yield from (memoryview(block) for block in self.tensor.stored_blocks())
            return
        for block in self.tensor.blocks():
            wanted = block.view(np.float64) if self.type_name == _PARTS else block.astype(self.array_dtype, copy=False)
            yield np.ascontiguousarray(wanted).view(np.uint8).data


_PARTS = "float64 parts"
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
    """Return what a tensor becomes; nothing is read yet. Raises DumpError if its data are not those of its shape."""
    if not tensor.element_type.is_readable:
        return ConvertedArray(tensor, np.dtype(np.uint8), (tensor.nbytes,), "bytes")
    tensor.check_size()
    dtype = array_dtype(tensor.element_type)
    if file_format is FileFormat.SAFETENSORS and dtype == np.complex128:
        return ConvertedArray(tensor, np.dtype(np.float64), (*tensor.shape, 2), _PARTS)
    if dtype == ml_dtypes.int4:
        dtype = np.dtype(np.int8)
    elif dtype.isbuiltin != 1 and not (file_format is FileFormat.SAFETENSORS and dtype in _IN_SAFETENSORS):
        dtype = np.dtype(np.float32)
    return ConvertedArray(tensor, dtype, tensor.shape, dtype.name)
