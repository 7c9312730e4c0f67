"""Many directory strings taken apart at once: one text, and arrays of places in it.

Says of each what `op_path` says of one (the two are held against each other by the tests of agreement), without
an object for any of them: a list of ops can have millions of lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_SLASH = ord("/")
_UNDERSCORE = ord("_")
_ZERO = ord("0")
_TOP = np.uint64(2**64 - 1)
_TEN = np.uint64(10)


@dataclass(frozen=True)
class Texts:
    """Pieces `text[begin[i]:end[i]]` of one text."""

    text: Bytes
    begin: Indices
    end: Indices

    @staticmethod
    def of(pieces: Sequence[bytes | str]) -> Texts:
        """Join pieces; a str stands for its UTF-8 bytes, its surrogate escapes for the bytes they came from."""
        raw = [piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece for piece in pieces]
        lengths = np.fromiter(map(len, raw), dtype=np.int64, count=len(raw))
        end = np.cumsum(lengths)
        return Texts(np.frombuffer(b"".join(raw), dtype=np.uint8), end - lengths, end)

    def __len__(self) -> int:
        return len(self.begin)

    def numbers(self) -> tuple[npt.NDArray[np.uint64], Flags]:
        """Read each piece as digits; return the values, and which pieces are a number below 2**64.

        Leading zeros are allowed, anything else but ASCII digits is not. The value of what is no number is 0.
        """
        values = np.zeros(len(self), dtype=np.uint64)
        is_number = self.begin < self.end
        position = self.begin.copy()
        which = np.flatnonzero(is_number)
        while len(which) > 0:
            digit = self.text[position[which]] - np.uint8(_ZERO)  # what is below "0" wraps to a large number
            value = values[which]
            fits = (digit < 10) & (value <= (_TOP - np.minimum(digit, 9).astype(np.uint64)) // _TEN)
            is_number[which[~fits]] = False
            values[which[~fits]] = 0
            which, digit, value = which[fits], digit[fits], value[fits]
            values[which] = value * _TEN + digit
            position[which] += 1
            which = which[position[which] < self.end[which]]
        return values, is_number


@dataclass(frozen=True)
class OpPaths:
    """The op paths among some directory strings, and the places of their components, those of one path in a row."""

    ops: Indices
    """Which of the strings have an op path: those with at least three parts."""
    text: Bytes
    begin: Indices
    """Where each component begins."""
    end: Indices
    """Where each component ends."""
    id_end: Indices
    """Where its id ends, which is at its first `_`; its beginning if there is none."""
    name_begin: Indices
    first: Indices
    """Of each path its first component."""
    depth: Indices
    """Of each path the number of its components, at least 1."""
    counts: Texts
    """Of each path what stands between its head and its components: the number of Setups."""
    devices: npt.NDArray[np.uint64]
    """Of each path the device of its head; 0 where it is not known."""
    device_known: Flags

    @staticmethod
    def of(dirs: Texts) -> OpPaths:
        """Take directory strings apart."""
        text = dirs.text
        slashes = np.flatnonzero(text == _SLASH)
        underscores = np.append(np.flatnonzero(text == _UNDERSCORE), len(text))
        first_slash = np.searchsorted(slashes, dirs.begin)
        slash_count = np.searchsorted(slashes, dirs.end) - first_slash
        ops = np.flatnonzero(slash_count >= 2)

        head_begin, head_slash, depth = dirs.begin[ops], first_slash[ops], slash_count[ops] - 1
        head_end = slashes[head_slash]
        underscore = underscores[np.searchsorted(underscores, head_begin)]
        has_underscore = underscore < head_end
        device_end = np.where(has_underscore, underscore, head_begin)
        devices, device_known = Texts(text, head_begin, device_end).numbers()

        first = np.cumsum(depth) - depth
        total = int(depth.sum())
        slash = np.repeat(head_slash + 1 - first, depth) + np.arange(total)
        begin = slashes[slash] + 1
        end = np.append(slashes, 0)[slash + 1]
        end[first + depth - 1] = dirs.end[ops]
        underscore = underscores[np.searchsorted(underscores, begin)]
        has_underscore = underscore < end
        return OpPaths(
            ops,
            text,
            begin,
            end,
            id_end=np.where(has_underscore, underscore, begin),
            name_begin=np.where(has_underscore, underscore + 1, begin),
            first=first,
            depth=depth,
            counts=Texts(text, head_end + 1, slashes[head_slash + 1]),
            devices=devices,
            device_known=device_known,
        )

    def __len__(self) -> int:
        return len(self.ops)

    @property
    def last(self) -> Indices:
        """Of each path its last component, which is the op itself."""
        return self.first + self.depth - 1
