"""A tensor of a dump: its header at once, its elements when they are asked for."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_arrays import Array, Bytes, array_dtype, elements
from atbprobe_rules.dump.tensor_file import BLOCK_BYTES, TensorFile

MOST_SHOWN_BYTES = 64 << 20


def load(path: str | os.PathLike[str]) -> Tensor:
    """Open a .bin of a dump; a reference gives the tensor that it stands for.

    Raises DumpError, with file, offset and reason, for one that is damaged or is no .bin; OSError if it cannot be
    read. The elements are read when they are first asked for.
    """
    return Tensor.open(path)


class Tensor(TensorFile):
    """A tensor of a dump, which numpy takes for an array: `np.abs(load(path)).max()`.

    `dtype` and `format` are the names that statistic.csv has (`bf16`, `fractal_nz`), `shape` that of the header.
    """

    @classmethod
    def of(cls, file: TensorFile) -> Tensor:
        """Return the same tensor with its elements."""
        return cls(file._file, file.home)

    @cached_property
    def array(self) -> Array:
        """The elements in their shape, read-only.

        Of numpy's type or ml_dtypes' where there is one (bf16, float8, float6, float4_e2m1, int4); float32 for
        hifloat8 and float4_e1m2, complex64 for complex32 and uint8 for uint1, which hold every value of these.
        Mapped from the file where that is large, the type needs no conversion and its elements lie aligned; else in
        memory.
        DumpError if the type cannot be read or the data are not those of the shape.
        """
        return self.read()

    def read(self) -> Array:
        """Return `array`, read anew and not kept here."""
        self.check_size()
        return self._decoded().reshape(self.shape)

    @cached_property
    def elements(self) -> Array:
        """All elements in the order in which they lie, one-dimensional; with padding, more than the shape says."""
        return self._decoded()

    def _decoded(self) -> Array:
        packed, count = self.stored_elements()
        decoded = elements(self.element_type, self.stored, packed=packed)[:count]
        decoded.flags.writeable = False
        return decoded

    @property
    def stored(self) -> Bytes:
        """The bytes as they are in the file, whatever the type; mapped where the elements lie aligned."""
        alignment = array_dtype(self.element_type).alignment if self.element_type.is_viewed else 1
        return np.frombuffer(self.home.data(alignment), np.uint8)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Array]:
        """Yield `elements` in parts made of at most `block_bytes` (at least 16) bytes of data, to bound memory."""
        yield from self._blocks(max(block_bytes // 16, 1) * 16)

    def element_blocks(self, count: int) -> Iterator[Array]:
        """Yield `elements` in parts of `count` elements, a multiple of 16; the last one may be shorter."""
        packed, _ = self.stored_elements()
        kind = self.element_type
        yield from self._blocks(kind.packed_bytes(count) if packed else kind.unpacked_bytes(count))

    def _blocks(self, block_bytes: int) -> Iterator[Array]:
        packed, count = self.stored_elements()
        for block in self.home.blocks(block_bytes):
            decoded = elements(self.element_type, np.frombuffer(block, np.uint8), packed=packed)[:count]
            count -= decoded.size
            yield decoded

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.array
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a tensor of {array.dtype} is no array of {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def _repr_html_(self) -> str:
        try:
            if self.nbytes <= MOST_SHOWN_BYTES:
                shown = np.array2string(self.array, threshold=60, edgeitems=3)
            else:  # without reading all of it
                shown = f"begins with {next(self.blocks(64))}"
        except (DumpError, OSError) as error:
            shown = str(error)
        path = html.escape(printable(str(self.path)))
        return f"<b>{html.escape(self._summary())}</b><br><code>{path}</code><pre>{html.escape(shown)}</pre>"

    def check_size(self) -> None:
        """Raise DumpError unless the data are as many elements as the shape says, and numpy can have that shape."""
        _, count = self.stored_elements()
        if count != self.size:
            raise DumpError(self.path, self._mismatch())
        if count == 0:
            try:
                np.empty(0, np.complex128).reshape(self.shape)
            except (ValueError, OverflowError) as error:
                raise DumpError(self.path, f"numpy makes no array of shape {self._shape_text()}: {error}") from error
