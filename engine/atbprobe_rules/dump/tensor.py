"""A tensor of a dump: its header at once, its elements when they are asked for."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import Array, Bytes, ElementType, element_type_of, format_name
from atbprobe_rules.dump.references import resolve_reference

BLOCK_BYTES = 4 << 20
MOST_SHOWN_BYTES = 64 << 20


def load(path: str | os.PathLike[str]) -> Tensor:
    """Open a .bin of a dump; a reference gives the tensor that it stands for.

    Raises DumpError, with file, offset and reason, for one that is damaged or is no .bin; OSError if it cannot be
    read. The elements are read when they are first asked for.
    """
    return Tensor.open(path)


class Tensor:
    """A tensor of a dump, which numpy takes for an array: `np.abs(load(path)).max()`.

    `dtype` and `format` are the names that statistic.csv has (`bf16`, `fractal_nz`), `shape` that of the header.
    """

    def __init__(self, file: BinFile, home: BinFile) -> None:
        self._file = file
        self._home = home
        self.element_type: ElementType = element_type_of(file.header.dtype)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, round_folder: Path | None = None, follow_link: bool = True
    ) -> Tensor:
        """As `load`; `round_folder` is where a reference is looked up, by default the one that the file lies in."""
        file = BinFile.open(path, follow_link=follow_link)
        home = file if file.header.reference is None else resolve_reference(file, round_folder)
        return cls(file, home)

    @property
    def path(self) -> Path:
        """The file that was opened."""
        return self._file.path

    @property
    def data_path(self) -> Path:
        """The file that has the data; another than `path` if that is a reference."""
        return self._home.path

    @property
    def is_reference(self) -> bool:
        return self._file is not self._home

    @property
    def dtype(self) -> str:
        """The type's name, as in statistic.csv; `array.dtype` is numpy's."""
        return self.element_type.name

    @property
    def format(self) -> str:
        return format_name(self._file.header.format)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._file.header.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements that the shape says."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of data in the file."""
        return self._home.header.data_bytes

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
        packed, count = self._stored_elements()
        decoded = self.element_type.elements(self.stored, packed=packed)[:count]
        decoded.flags.writeable = False
        return decoded

    @property
    def stored(self) -> Bytes:
        """The bytes as they are in the file, whatever the type; mapped where the elements lie aligned."""
        return self._home.data(self.element_type.array_dtype.alignment if self.element_type.is_viewed else 1)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Array]:
        """Yield `elements` in parts made of at most `block_bytes` (at least 16) bytes of data, to bound memory."""
        packed, count = self._stored_elements()
        for block in self._home.blocks(max(block_bytes // 16, 1) * 16):
            decoded = self.element_type.elements(block, packed=packed)[:count]
            count -= decoded.size
            yield decoded

    def stored_blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Bytes]:
        """Yield the bytes as they are in the file, at most `block_bytes` at a time."""
        return self._home.blocks(block_bytes)

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

    def __repr__(self) -> str:
        return f"<Tensor {self._summary()}, {printable(str(self.path))!r}>"

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

    def _summary(self) -> str:
        refers = f", data in {printable(self.data_path.name)}" if self.is_reference else ""
        return f"{self.dtype} {self._shape_text()} {self.format}, {self.nbytes:,} bytes{refers}"

    def _shape_text(self) -> str:
        return "x".join(map(str, self.shape)) or "scalar"

    def _stored_elements(self) -> tuple[bool, int]:
        """Whether they are packed, and how many there are. DumpError if that cannot be told."""
        kind = self.element_type
        if not kind.is_readable:
            raise DumpError(self.path, f"elements of type {self.dtype} cannot be read; `stored` has the bytes")
        if kind.bits < 8 and self.nbytes != self.size:
            if kind.can_be_packed and self.nbytes == kind.packed_bytes(self.size):
                return True, self.size
            raise DumpError(self.path, self._mismatch())
        if kind.bits >= 8 and self.nbytes % (kind.bits // 8):
            raise DumpError(self.path, f"{self.nbytes:,} bytes of data are no whole number of {self.dtype} elements")
        return False, self.nbytes // kind.unpacked_bytes(1)

    def check_size(self) -> None:
        """Raise DumpError unless the data are as many elements as the shape says, and numpy can have that shape."""
        _, count = self._stored_elements()
        if count != self.size:
            raise DumpError(self.path, self._mismatch())
        if count == 0:
            try:
                np.empty(0, np.complex128).reshape(self.shape)
            except (ValueError, OverflowError) as error:
                raise DumpError(self.path, f"numpy makes no array of shape {self._shape_text()}: {error}") from error

    def _mismatch(self) -> str:
        return f"{self.nbytes:,} bytes of data are not those of {self._shape_text()} elements of type {self.dtype}"
