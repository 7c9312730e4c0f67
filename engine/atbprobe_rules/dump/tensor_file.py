"""A tensor of a dump as far as that goes without numpy: its header, and its bytes when they are asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import ElementType, element_type_of, format_name
from atbprobe_rules.dump.references import resolve_reference

BLOCK_BYTES = 4 << 20

Opened = TypeVar("Opened", bound="TensorFile")


class TensorFile:
    """A .bin and, if that is a reference, the one that has its data.

    `dtype` and `format` are the names that statistic.csv has (`bf16`, `fractal_nz`), `shape` that of the header.
    """

    def __init__(self, file: BinFile, home: BinFile) -> None:
        self._file = file
        self.home = home
        """The file that has the data."""
        self.element_type: ElementType = element_type_of(file.header.dtype)

    @classmethod
    def open(
        cls: type[Opened],
        path: str | os.PathLike[str],
        *,
        round_folder: Path | None = None,
        follow_link: bool = True,
    ) -> Opened:
        """Read the header; `round_folder` is where a reference is looked up, by default that which the file lies in.

        Raises DumpError for a file that is damaged or is no .bin, OSError if it cannot be read.
        """
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
        return self.home.path

    @property
    def is_reference(self) -> bool:
        return self._file is not self.home

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
        return self.home.header.data_bytes

    def stored_blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[bytearray]:
        """Yield the bytes as they are in the file, at most `block_bytes` at a time."""
        return self.home.blocks(block_bytes)

    def stored_elements(self) -> tuple[bool, int]:
        """Return whether the elements are packed, and how many there are, padding included.

        DumpError if that cannot be told.
        """
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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary()}, {printable(str(self.path))!r}>"

    def _summary(self) -> str:
        refers = f", data in {printable(self.data_path.name)}" if self.is_reference else ""
        return f"{self.dtype} {self._shape_text()} {self.format}, {self.nbytes:,} bytes{refers}"

    def _shape_text(self) -> str:
        return "x".join(map(str, self.shape)) or "scalar"

    def _mismatch(self) -> str:
        return f"{self.nbytes:,} bytes of data are not those of {self._shape_text()} elements of type {self.dtype}"
