"""The program image: the bytes of a program, and back.

An image is a header, a table of sections, and the sections; docs/program-format.md describes it. The same
program always makes the same bytes. `decode` trusts nothing: it makes the checks of the verifier in
interposer/, in the same order and with the same names for what is wrong, so that no table that it returns
leads an evaluator out of bounds.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from atbprobe_rules.program import SECTIONS, Program, Records, SectionKind
from atbprobe_rules.verifier import ImageError, check, verify_program

__all__ = ["ImageError", "decode", "encode", "image_size", "with_checksum"]

MAGIC = b"ATBRULES"
VERSION = 1
MAX_IMAGE_BYTES = 64 << 20
SECTION_ALIGNMENT = 64
MAX_SECTIONS = 64
SECTION_REQUIRED = 1
"""Flag of a section: a reader that does not know its kind must refuse the image."""

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("total_bytes", "<u8"),
        ("generation", "<u8"),
        ("config_hash", "u1", (32,)),
        ("section_count", "<u4"),
        ("section_bytes", "<u4"),
        ("checksum", "<u4"),
        ("reserved", "<u4"),
    ]
)
SECTION = np.dtype(
    [
        ("kind", "<u4"),
        ("flags", "<u4"),
        ("offset", "<u8"),
        ("count", "<u8"),
        ("record_bytes", "<u4"),
        ("reserved", "<u4"),
    ]
)

_EXPLANATIONS = {SectionKind.RULE_NAMES, SectionKind.TEXT}
"""What a reader may ignore: it does not say what is selected."""

_CHECKSUM = slice(72, 76)
"""The checksum within the header."""


def encode(program: Program, generation: int = 0) -> bytes:
    """Return the image of a program. The generation stays 0 until the image is published."""
    sections, end = _lay_out(program)
    entries = np.zeros(len(sections), dtype=SECTION)
    for index, (kind, offset, array) in enumerate(sections):
        flags = 0 if kind in _EXPLANATIONS else SECTION_REQUIRED
        entries[index] = (kind, flags, offset, len(array), array.itemsize, 0)

    header = np.zeros((), dtype=HEADER)
    header["magic"] = MAGIC
    header["version"] = VERSION
    header["header_bytes"] = HEADER.itemsize
    header["total_bytes"] = end
    header["generation"] = generation
    header["config_hash"] = np.frombuffer(program.config_hash, dtype=np.uint8)
    header["section_count"] = len(sections)
    header["section_bytes"] = SECTION.itemsize

    image = bytearray(end)
    image[: HEADER.itemsize] = header.tobytes()
    image[HEADER.itemsize : HEADER.itemsize + entries.nbytes] = entries.tobytes()
    for _, offset, array in sections:
        image[offset : offset + array.nbytes] = array.tobytes()
    return with_checksum(image)


def image_size(program: Program) -> int:
    """Return the length in bytes of the program's image."""
    return _lay_out(program)[1]


def with_checksum(image: bytes | bytearray) -> bytes:
    """Return the image with the checksum of its bytes filled in; it must be at least as long as a header."""
    sealed = bytearray(image)
    sealed[_CHECKSUM] = _checksum(image).to_bytes(4, "little")
    return bytes(sealed)


def decode(image: bytes) -> Program:
    """Return the program of an image; raises ImageError. Its arrays are read-only views of `image`."""
    header = _decode_header(image)
    arrays = _decode_sections(image, header)
    program = Program(header["config_hash"].tobytes(), int(header["generation"]), **arrays)
    verify_program(program)
    return program


def _lay_out(program: Program) -> tuple[list[tuple[SectionKind, int, Records]], int]:
    """Return (kind, offset, records) of all sections that are not empty, and the length of the image."""
    arrays = [(kind, getattr(program, attribute)) for kind, (attribute, _) in SECTIONS.items()]
    present = [(kind, array) for kind, array in arrays if len(array) > 0]
    end = HEADER.itemsize + len(present) * SECTION.itemsize
    sections: list[tuple[SectionKind, int, Records]] = []
    for kind, array in present:
        offset = end + -end % SECTION_ALIGNMENT
        sections.append((kind, offset, array))
        end = offset + array.nbytes
    return sections, end


def _checksum(image: bytes | bytearray) -> int:
    """Return the CRC-32 (IEEE 802.3) of the image, its own field taken as zero."""
    view = memoryview(image)
    before = zlib.crc32(view[: _CHECKSUM.start])
    return zlib.crc32(view[_CHECKSUM.stop :], zlib.crc32(bytes(4), before))


def _decode_header(image: bytes) -> np.void:
    check(len(image) >= HEADER.itemsize, "too-short")
    check(len(image) <= MAX_IMAGE_BYTES, "too-large")
    header: np.void = np.frombuffer(image, dtype=HEADER, count=1)[0]
    check(image[: len(MAGIC)] == MAGIC, "bad-magic")
    check(header["version"] == VERSION, "other-version")
    check(header["header_bytes"] == HEADER.itemsize, "bad-header")
    check(header["section_bytes"] == SECTION.itemsize, "bad-header")
    check(header["section_count"] <= MAX_SECTIONS, "bad-header")
    check(header["total_bytes"] == len(image), "bad-length")
    check(header["checksum"] == _checksum(image), "bad-checksum")
    return header


def _decode_sections(image: bytes, header: np.void) -> dict[str, Any]:
    """Return the arrays of a Program; that of a section which is not in the image is empty."""
    count = int(header["section_count"])
    end = HEADER.itemsize + count * SECTION.itemsize
    check(end <= len(image), "bad-section-table")
    found: dict[int, tuple[int, int, int]] = {}
    last_kind = 0
    entries = np.frombuffer(image, dtype=SECTION, count=count, offset=HEADER.itemsize)
    for kind, flags, offset, length, record_bytes, _ in entries.tolist():
        check(kind > last_kind, "bad-section-table")
        check(offset % SECTION_ALIGNMENT == 0 and end <= offset <= len(image), "bad-section-table")
        check(record_bytes > 0 and length * record_bytes <= len(image) - offset, "bad-section-table")
        known = kind in SECTIONS
        check(known or not flags & SECTION_REQUIRED, "unknown-required-section")
        last_kind = kind
        end = offset + length * record_bytes
        found[kind] = (offset, length, record_bytes)

    arrays: dict[str, Any] = {}
    for kind, (attribute, dtype) in SECTIONS.items():
        offset, length, record_bytes = found.get(kind, (0, 0, dtype.itemsize))
        check(record_bytes == dtype.itemsize, "bad-record-size")
        arrays[attribute] = np.frombuffer(image, dtype=dtype, count=length, offset=offset)
    return arrays
