"""Whatever happens to the bytes of an image, both verifiers refuse it alike, or the program stays in bounds."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engines import ask_library, ask_tables, image_of
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules import native
from atbprobe_rules.image import HEADER, SECTION, ImageError, decode, with_checksum
from atbprobe_rules.selection import NumberFilter, Rule, Selection, Tasks
from plain_rules import id_term, name_term, numbers, plain_rule

QUERIES = [
    (0, b"0_1/0/1_Prefill_layer/1_Attention/0_LinearOperation"),
    (5, b"x_1/0/2_LmHead"),
    (6, b"7_1/0/1_Prefill/2_ab/3_Att//"),
    (2**64 - 1, b"0_1/0/12345678901234567890_" + bytes(range(1, 47)) + bytes(range(48, 256))),
]


def _rule(number: int, **fields: Any) -> Rule:
    rounds = NumberFilter(False, (numbers(0, 5), numbers(6, 99, 3)))
    return plain_rule(number, **{"tasks_out": Tasks.STATISTICS, "rounds": rounds, "save_child": True, **fields})


@pytest.fixture(scope="module")
def image() -> bytes:
    """An image in which every kind of section is used."""
    prefill = (name_term("prefill_layer", "att"), name_term("prefill", anchored=True), name_term("lm"))
    rules = (
        _rule(1, names=prefill),
        _rule(2, ids=(id_term(numbers(1, 2), 1),), save_child=False),
        _rule(3, names=(name_term("ab", excluded=True),), devices=NumberFilter(False, (numbers(1, 9, 2),))),
    )
    return image_of(Selection(True, 1, rules))


def _verdict(image: bytes) -> str:
    try:
        decode(image)
    except ImageError as error:
        return error.reason
    return "ok"


def _assert_alike(image: bytes, faults: int = 1) -> str:
    """Both verifiers say the same, and a program that they let through gives the same answers on both sides.

    Which of several faults is named depends on what is looked at first.
    """
    verdict = _verdict(image)
    native_verdict = native.verify(image)
    assert native_verdict == verdict if faults == 1 else (native_verdict == "ok") == (verdict == "ok")
    if verdict == "ok":
        assert ask_library(image, QUERIES) == ask_tables(image, QUERIES)
    return verdict


def _flips(image: bytes) -> Iterator[bytes]:
    for offset in range(len(image)):
        for flip in (0x01, 0xFF):
            yield image[:offset] + bytes([image[offset] ^ flip]) + image[offset + 1 :]


def test_undamaged(image: bytes) -> None:
    assert _assert_alike(image) == "ok"
    answers = ask_tables(image, QUERIES)
    assert len({answer[0] for answer in answers}) > 1


def test_every_flipped_byte_is_noticed(image: bytes) -> None:
    for damaged in _flips(image):
        assert _assert_alike(damaged) != "ok"


def test_every_length_is_noticed(image: bytes) -> None:
    for length in range(len(image)):
        assert _assert_alike(image[:length]) != "ok"
    assert _assert_alike(image + bytes(64)) == "bad-length"


def test_flipped_bytes_under_a_good_checksum(image: bytes) -> None:
    verdicts = {_assert_alike(with_checksum(damaged)) for damaged in _flips(image)}
    assert {"ok", "bad-section-table", "bad-intervals", "bad-transitions", "bad-states", "bad-actions"} <= verdicts


def test_truncation_under_a_good_checksum_and_length(image: bytes) -> None:
    total_bytes = HEADER.fields["total_bytes"][1]
    for length in range(HEADER.itemsize, len(image)):
        damaged = bytearray(image[:length])
        struct.pack_into("<Q", damaged, total_bytes, length)
        assert _assert_alike(with_checksum(damaged)) != "ok"


def test_many_changes_under_a_good_checksum(image: bytes) -> None:
    source = random.Random(0)
    words = [0, 1, 255, 256, len(image), 2**31, 2**32 - 1]
    for _ in range(2000):
        damaged = bytearray(image)
        faults = source.randint(1, 3)
        for _ in range(faults):
            offset = source.randrange(HEADER.itemsize, len(image) - 4, 4)
            struct.pack_into("<I", damaged, offset, source.choice(words))
        _assert_alike(with_checksum(damaged), faults)


@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    assert _assert_alike(data) != "ok"


def _with_section(image: bytes, kind: int, flags: int) -> bytes:
    """Give the image's last section another kind."""
    damaged = bytearray(image)
    count = int(np.frombuffer(image, HEADER, 1)["section_count"][0])
    struct.pack_into("<II", damaged, HEADER.itemsize + (count - 1) * SECTION.itemsize, kind, flags)
    return with_checksum(damaged)


def test_unknown_required_section(image: bytes) -> None:
    assert _assert_alike(_with_section(image, kind=1000, flags=1)) == "unknown-required-section"


def test_unknown_section(image: bytes) -> None:
    # The last section is the text of the rules' names, which are out of bounds without it.
    assert _assert_alike(_with_section(image, kind=1000, flags=0)) == "bad-names"
