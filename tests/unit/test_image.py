"""Images hold a program whole, are the same every time, and are refused with a reason when they are not good."""

from __future__ import annotations

import dataclasses
import struct
import zlib

import numpy as np
import pytest

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.image import HEADER, SECTION, ImageError, decode, encode, image_size, with_checksum
from atbprobe_rules.program import SECTIONS, Program

CONFIG = (
    b'{"dump_enable": true, "exec_range": "0,5,9,9", "ids": "1,2_3", "op_name": "Prefill/Att,LmHead", "device": "0,2"}'
)
CONFIG_HASH = bytes(range(32))


@pytest.fixture
def program() -> Program:
    return compile_selection(check_config(CONFIG, "config.json").require(), CONFIG_HASH)


def reason(image: bytes) -> str:
    with pytest.raises(ImageError) as caught:
        decode(image)
    assert caught.value.reason in str(caught.value)
    return caught.value.reason


def header_offset(field: str) -> int:
    assert HEADER.fields is not None
    return HEADER.fields[field][1]


def test_round_trip(program: Program) -> None:
    decoded = decode(encode(program, generation=7))
    assert decoded.generation == 7
    assert decoded.config_hash == CONFIG_HASH
    for attribute, dtype in SECTIONS.values():
        before, after = getattr(program, attribute), getattr(decoded, attribute)
        assert after.dtype == dtype
        assert after.tobytes() == before.tobytes(), attribute
    assert decoded.rule_names == ("1",)


def test_the_same_program_makes_the_same_bytes(program: Program) -> None:
    again = compile_selection(check_config(CONFIG, "config.json").require(), CONFIG_HASH)
    assert encode(program) == encode(again)


def test_shape(program: Program) -> None:
    image = encode(program)
    header = np.frombuffer(image, HEADER, 1)[0]
    assert header["total_bytes"] == len(image) == image_size(program)
    sections = np.frombuffer(image, SECTION, int(header["section_count"]), HEADER.itemsize)
    assert (sections["offset"] % 64 == 0).all()
    assert (sections["kind"][1:] > sections["kind"][:-1]).all()
    assert (sections["count"] > 0).all()
    zeroed = bytearray(image)
    zeroed[header_offset("checksum") : header_offset("checksum") + 4] = bytes(4)
    assert header["checksum"] == zlib.crc32(zeroed)


def test_decoded_arrays_cannot_be_written(program: Program) -> None:
    decoded = decode(encode(program))
    with pytest.raises(ValueError, match="read-only"):
        decoded.id_transitions[0] = 1


def test_not_an_image(program: Program) -> None:
    image = encode(program)
    assert reason(b"") == "too-short"
    assert reason(image[: HEADER.itemsize - 1]) == "too-short"
    assert reason(bytes((64 << 20) + 1)) == "too-large"
    assert reason(b"X" + image[1:]) == "bad-magic"
    assert reason(image[:-1]) == "bad-length"
    assert reason(image[:-1] + bytes([image[-1] ^ 1])) == "bad-checksum"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("version", 2, "other-version"),
        ("header_bytes", 88, "bad-header"),
        ("section_bytes", 24, "bad-header"),
        ("section_count", 65, "bad-header"),
        ("section_count", 64, "bad-section-table"),
        ("section_count", 0, "missing-section"),
    ],
)
def test_header(program: Program, field: str, value: int, expected: str) -> None:
    image = bytearray(encode(program))
    struct.pack_into("<I", image, header_offset(field), value)
    assert reason(with_checksum(image)) == expected


@pytest.mark.parametrize(
    ("attribute", "field", "value", "expected"),
    [
        ("program", "rule_count", 65, "bad-program"),
        ("program", "enabled_rules", 2, "bad-program"),
        ("program", "filter_level", 4, "bad-program"),
        ("program", "id_class_count", 0, "bad-classes"),
        ("program", "id_class_count", 257, "bad-classes"),
        ("program", "id_start", 1, "bad-transitions"),
        ("program", "id_start", 0xFFFFFFFF, "bad-transitions"),
        ("program", "id_absorbing", 0, "bad-states"),
        ("program", "name_absorbing", 0xFFFFFFFF, "bad-transitions"),
        ("rounds", "first", 1, "bad-intervals"),
        ("devices", "first", 1, "bad-intervals"),
        ("id_emissions", "here", 1, "bad-states"),
        ("path_words", "accept_base", 1, "bad-accepts"),
        ("path_words", "accept", 0, "bad-accepts"),
        ("actions", "input_tasks", 4, "bad-actions"),
        ("actions", "save_child", 2, "bad-actions"),
        ("actions", "condition", 8, "unsupported"),
        ("actions", "condition_bound", 1.0, "bad-actions"),
        ("actions", "reserved", 1, "unsupported"),
        ("rule_name_records", "text_offset", 2, "bad-names"),
        ("rule_name_records", "text_length", 0xFFFFFFFF, "bad-names"),
    ],
)
def test_records(program: Program, attribute: str, field: str, value: int, expected: str) -> None:
    changed = getattr(program, attribute).copy()
    changed[field][0] = value
    assert reason(encode(dataclasses.replace(program, **{attribute: changed}))) == expected


@pytest.mark.parametrize(
    ("attribute", "index", "value", "expected"),
    [
        ("id_classes", 255, 200, "bad-classes"),
        ("id_transitions", -1, 1, "bad-transitions"),
        ("id_transitions", -1, 0xFFFFFFF0, "bad-transitions"),
        ("id_states", -1, 0xFFFF, "bad-states"),
        ("name_states", 0, 0xFFFFFFFF, "bad-states"),
    ],
)
def test_tables(program: Program, attribute: str, index: int, value: int, expected: str) -> None:
    changed = getattr(program, attribute).copy()
    changed[index] = value
    assert reason(encode(dataclasses.replace(program, **{attribute: changed}))) == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("rounds", "missing-section"),
        ("devices", "missing-section"),
        ("id_classes", "bad-classes"),
        ("id_transitions", "bad-transitions"),
        ("id_states", "bad-transitions"),
        ("id_emissions", "bad-states"),
        ("name_positions", "bad-positions"),
        ("path_words", "bad-positions"),
        ("path_accepts", "bad-accepts"),
        ("actions", "bad-actions"),
        ("rule_name_records", "bad-names"),
        ("text", "bad-names"),
    ],
)
def test_missing_sections(program: Program, attribute: str, expected: str) -> None:
    empty = getattr(program, attribute)[:0]
    assert reason(encode(dataclasses.replace(program, **{attribute: empty}))) == expected


def test_sections_of_later_versions() -> None:
    program = compile_selection(check_config(b'{"dump_enable": true}', "config.json").require(), CONFIG_HASH)

    def with_another_section(kind: int, flags: int) -> bytes:
        """Append a section; with an even number of sections there is room for its entry before the first one."""
        image = bytearray(encode(program))
        count = int(np.frombuffer(image, HEADER, 1)["section_count"][0])
        entry = HEADER.itemsize + count * SECTION.itemsize
        assert entry + SECTION.itemsize <= np.frombuffer(image, SECTION, 1, HEADER.itemsize)["offset"][0]
        image += bytes(-len(image) % 64)
        struct.pack_into("<IIQQII", image, entry, kind, flags, len(image), 3, 8, 0)
        image += bytes(24)
        struct.pack_into("<I", image, header_offset("section_count"), count + 1)
        struct.pack_into("<Q", image, header_offset("total_bytes"), len(image))
        return with_checksum(image)

    assert decode(with_another_section(40, 0)).rule_names == program.rule_names
    assert reason(with_another_section(40, 1)) == "unknown-required-section"
    assert reason(with_another_section(21, 0)) == "bad-section-table"
