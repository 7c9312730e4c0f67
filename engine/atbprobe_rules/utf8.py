"""Ranges of characters as UTF-8: sequences of ranges of bytes (RFC 3629)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

LAST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_LAST_OF_LENGTH = (0x7F, 0x7FF, 0xFFFF, LAST_CHARACTER)
_CONTINUATION_BITS = 6

Range = tuple[int, int]
"""The first and the last of a range; both belong to it."""


def byte_ranges(characters: Iterable[Range]) -> Iterator[Sequence[Range]]:
    """Yield sequences of one to four ranges of bytes: a character is in a range if its bytes are in a sequence."""
    for first, last in characters:
        start = first
        for length_last in _LAST_OF_LENGTH:
            if start <= min(last, length_last):
                yield from _without_surrogates(start, min(last, length_last))
            start = max(start, length_last + 1)


def complement(characters: Iterable[Range]) -> Iterator[Range]:
    """Yield the ranges between those given, which may overlap and come in any order."""
    start = 0
    for first, last in sorted(characters):
        if start < first:
            yield start, first - 1
        start = max(start, last + 1)
    if start <= LAST_CHARACTER:
        yield start, LAST_CHARACTER


def fold_ascii_case(characters: Iterable[Range]) -> Iterator[Range]:
    """Yield the ranges, and what their ASCII letters are in the other case."""
    for first, last in characters:
        yield first, last
        for letters, distance in (((0x41, 0x5A), 0x20), ((0x61, 0x7A), -0x20)):
            low, high = max(first, letters[0]), min(last, letters[1])
            if low <= high:
                yield low + distance, high + distance


def _without_surrogates(first: int, last: int) -> Iterator[Sequence[Range]]:
    low, high = _SURROGATES
    if first < low:
        yield from _sequences(first, min(last, low - 1))
    if last > high:
        yield from _sequences(max(first, high + 1), last)


def _sequences(first: int, last: int) -> Iterator[Sequence[Range]]:
    """Split until each byte but the ones in front runs over a whole range; all have the same length."""
    for continuations in range(1, 4):
        mask = (1 << _CONTINUATION_BITS * continuations) - 1
        if first | mask >= last:
            break
        if first & mask:
            yield from _sequences(first, first | mask)
            yield from _sequences((first | mask) + 1, last)
            return
        if last & mask != mask:
            yield from _sequences(first, (last & ~mask) - 1)
            yield from _sequences(last & ~mask, last)
            return
    yield tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))
