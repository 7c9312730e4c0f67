"""The library was compiled with the layouts that the Python side writes and reads."""

from __future__ import annotations

import numpy as np
import pytest

from atbprobe_rules import image, native, program

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
