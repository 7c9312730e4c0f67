"""The text in front of the data in a .bin: lines `name=value`, ended by `$End=1`.

    $Version=1.0
    $Object.Count=1
    $Object.Length=9216
    format=2
    dtype=27
    dims=36,128
    $Object.data=0,9216
    $End=1

A reference has no data, count and length 0, and `data=2_1_outtensor0.bin` in place of `$Object.data`: the id path and
file name of the tensor of the same round that has the bytes. Nothing else is taken for a .bin. A file with an
attribute that is not known here may mean something that is not known here, and would be read wrongly.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NoReturn

from atbprobe_rules.dump.dump_error import DumpError

MOST_HEADER_BYTES = 1 << 16
"""A header takes some 120 bytes, a reference those of its file's name more."""

MOST_DIMENSIONS = 32
"""As many as every numpy can have."""

_FIRST = b"$Version="
_WHOLE = ("$Version", "$Object.Count", "$Object.Length", "format", "dtype", "dims", "$Object.data", "$End")
_REFERENCE = (*_WHOLE[:6], "data", "$End")
_USUAL = re.compile(
    rb"\$Version=1\.0\n\$Object\.Count=1\n\$Object\.Length=([0-9]{1,19})\nformat=(-?[0-9]{1,10})\n"
    rb"dtype=(-?[0-9]{1,10})\ndims=((?:[0-9]{1,19}(?:,[0-9]{1,19}){0,%d})?)\n\$Object\.data=0,\1\n\$End=1\n"
    % (MOST_DIMENSIONS - 1)
)
_NUMBER = re.compile(r"-?[0-9]{1,10}")
_SIZE = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class BinHeader:
    """What a header says. `length` is its own, in bytes; `data_bytes` lie behind it, none for a reference."""

    format: int
    dtype: int
    shape: tuple[int, ...]
    data_bytes: int
    length: int
    reference: str | None = None


@dataclass(frozen=True)
class _Line:
    name: str
    value: str
    offset: int  # of the value


def parse_bin_header(start: bytes, path: str | os.PathLike[str]) -> BinHeader:
    """Parse the header at the start of a file.

    Of the file `start` is all, the first MOST_HEADER_BYTES, or enough to have `$End`.

    Raises DumpError, with `path`, unless every line is there, in its place and in its form.
    """
    usual = _USUAL.match(start)
    if usual is not None:  # at a tenth of the cost of going through it line by line
        data_bytes, form, dtype, dims = usual.groups()
        shape = tuple(map(int, dims.split(b","))) if dims else ()
        return BinHeader(int(form), int(dtype), shape, int(data_bytes), usual.end())
    return _Parser(start, path).header()


class _Parser:
    def __init__(self, start: bytes, path: str | os.PathLike[str]) -> None:
        self._start = start
        self._path = path
        self._at = 0

    def header(self) -> BinHeader:
        if not self._start:
            self._fail("the file is empty", 0)
        if not self._start.startswith(_FIRST[: len(self._start)]):
            self._fail("this is no tensor file: it does not begin with $Version=", 0)
        version, count, length, form, dtype, dims = (self._line(_WHOLE[place], place) for place in range(6))
        if version.value != "1.0":
            self._fail(f"there is no version {version.value!r} of tensor files, only 1.0", version.offset)
        if count.value not in ("0", "1"):
            self._fail(f"$Object.Count is {count.value!r}: a file holds one tensor, or 0 as a reference", count.offset)
        is_reference = count.value == "0"
        place = self._line("data" if is_reference else "$Object.data", 6)
        end = self._line("$End", 7)
        if end.value != "1":
            self._fail(f"$End is {end.value!r}, not 1", end.offset)
        data_bytes = self._size(length)
        if is_reference:
            self._check_reference(place, length, data_bytes)
        elif place.value != f"0,{length.value}":
            self._fail(f"$Object.data is {place.value!r}, not '0,{length.value}'", place.offset)
        shape = self._shape(dims)
        reference = place.value if is_reference else None
        return BinHeader(self._number(form), self._number(dtype), shape, data_bytes, self._at, reference)

    def _fail(self, reason: str, offset: int) -> NoReturn:
        raise DumpError(self._path, reason, offset)

    def _line(self, name: str, place: int) -> _Line:
        begin = self._at
        end = self._start.find(b"\n", begin, MOST_HEADER_BYTES)
        if end < 0:
            if len(self._start) >= MOST_HEADER_BYTES:
                self._fail(f"no header ends within the first {MOST_HEADER_BYTES} bytes", begin)
            self._fail(f"the file ends within its header, before {name} is over", len(self._start))
        found, equals, value = self._start[begin:end].partition(b"=")
        found_name = found.decode("utf-8", "backslashreplace")[:80]
        if not equals or found_name != name:
            known = equals and found_name in {*_WHOLE, *_REFERENCE}
            said = f"{found_name} stands" if known else f"the unknown attribute {found_name!r} stands"
            self._fail(f"{said} where {name} belongs, in line {place + 1}", begin)
        self._at = end + 1
        return _Line(name, value.decode("utf-8", "surrogateescape"), begin + len(found) + 1)

    def _number(self, line: _Line) -> int:
        if not _NUMBER.fullmatch(line.value):
            self._fail(f"{line.name} is {line.value[:80]!r}, which is no number", line.offset)
        return int(line.value)

    def _size(self, line: _Line) -> int:
        if not _SIZE.fullmatch(line.value):
            self._fail(f"{line.name} is {line.value[:80]!r}, which is no number of bytes", line.offset)
        return int(line.value)

    def _shape(self, line: _Line) -> tuple[int, ...]:
        sizes = line.value.split(",") if line.value else []
        if not all(_SIZE.fullmatch(size) for size in sizes):
            self._fail(f"dims is {line.value[:80]!r}, which is no shape", line.offset)
        if len(sizes) > MOST_DIMENSIONS:
            self._fail(f"dims has {len(sizes)} dimensions, more than {MOST_DIMENSIONS}", line.offset)
        return tuple(int(size) for size in sizes)

    def _check_reference(self, place: _Line, length: _Line, data_bytes: int) -> None:
        if data_bytes != 0:
            self._fail(f"$Object.Length is {length.value} in a reference, which has no data", length.offset)
        if not place.value:
            self._fail("the reference is empty", place.offset)
