"""The library was compiled with the layouts that the Python side writes and reads."""

from __future__ import annotations

import numpy as np
import pytest

from atbprobe_rules import channel_layout, image, native, program
from atbprobe_rules.cli import ops as ops_command
from atbprobe_rules.listing import records as listing
from atbprobe_rules.listing.request import MOST_ROUNDS

RECORDS: dict[str, np.dtype] = {
    "ImageHeader": image.HEADER,
    "SectionEntry": image.SECTION,
    "ProgramRecord": program.PROGRAM,
    "IntervalRecord": program.INTERVAL,
    "StrideRecord": program.STRIDE,
    "EmissionRecord": program.EMISSION,
    "PathWordRecord": program.PATH_WORD,
    "PathAcceptRecord": program.PATH_ACCEPT,
    "ActionRecord": program.ACTION,
    "RuleNameRecord": program.RULE_NAME,
    "ControlHeader": channel_layout.CONTROL,
    "ProcessSlot": channel_layout.SLOT,
    "ProcessCounters": channel_layout.COUNTERS,
    "CounterLane": channel_layout.LANE,
}


@pytest.mark.parametrize("struct", RECORDS)
def test_records(struct: str) -> None:
    dtype = RECORDS[struct]
    assert dtype.fields is not None
    fields = {name: [offset, field.itemsize] for name, (field, offset) in dtype.fields.items()}
    assert native.layout()["structs"][struct] == {"size": dtype.itemsize, "fields": fields}


def test_constants() -> None:
    constants = native.layout()["constants"]
    assert constants["image_version"] == image.VERSION
    assert constants["section_alignment"] == image.SECTION_ALIGNMENT
    assert constants["max_image_bytes"] == image.MAX_IMAGE_BYTES
    assert constants["max_path_words"] == program.MAX_PATH_WORDS
    assert constants["channel_version"] == channel_layout.CHANNEL_VERSION
    assert constants["slot_count"] == channel_layout.SLOT_COUNT
    assert constants["lane_count"] == channel_layout.LANE_COUNT
    assert constants["slots_offset"] == channel_layout.SLOTS_OFFSET
    assert constants["control_bytes"] == channel_layout.CONTROL_BYTES
    assert constants["loss_reasons"] == list(channel_layout.LOSS_REASONS)


def test_constants_of_listings() -> None:
    constants = native.layout()["constants"]
    assert constants["listing_magic"].encode() == listing.MAGIC
    assert constants["bell_place"] == channel_layout.BELL_PLACE
    assert constants["most_listed_rounds"] == MOST_ROUNDS == ops_command.MOST_ROUNDS
    assert constants["max_listing_bytes"] < listing.MAX_ANSWER_BYTES
    assert constants["listing_records"] == list(listing.RecordKind)
    assert constants["listing_ends"] == list(listing.ListingEnd)


def test_every_struct_of_the_library_has_its_dtype() -> None:
    assert native.layout()["structs"].keys() == RECORDS.keys()
