from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.op_path import OpComponent, OpPath, execution_key, parse_op_path
from atbprobe_rules.selection import MAX_NUMBER


def component(text: str) -> OpComponent:
    path = parse_op_path(f"0_1/0/{text}")
    assert path is not None and len(path.components) == 1
    return path.components[0]


def test_an_op_path_is_taken_apart() -> None:
    assert parse_op_path("3_27576/12/2_Prefill_layer/1_Attention") == OpPath(
        device=3,
        device_text=b"3",
        pid=b"27576",
        count=b"12",
        components=(
            OpComponent(2, b"2", b"Prefill_layer"),
            OpComponent(1, b"1", b"Attention"),
        ),
    )


@pytest.mark.parametrize("directory", ["", "0_1", "0_1/0", "2_Prefill_layer", "/"])
def test_fewer_than_three_parts_are_no_op_path(directory: str) -> None:
    assert parse_op_path(directory) is None


@pytest.mark.parametrize(
    ("head", "device"),
    [
        ("0_1", 0),
        ("00_1", 0),
        ("12_34_5", 12),
        (f"{MAX_NUMBER}_1", MAX_NUMBER),
        ("0" * 50 + "7_1", 7),
        (f"{MAX_NUMBER + 1}_1", None),
        ("9" * 5000 + "_1", None),
        ("-1_1", None),
        ("+1_1", None),
        (" 1_1", None),
        ("1x_1", None),
        ("\u0661_1", None),
        ("_1", None),
        ("5", None),
        ("", None),
    ],
)
def test_the_device_is_the_number_before_the_first_underscore(head: str, device: int | None) -> None:
    path = parse_op_path(f"{head}/0/2_Prefill_layer")
    assert path is not None
    assert path.device == device


@pytest.mark.parametrize(
    ("text", "number", "name"),
    [
        ("0_A", 0, b"A"),
        ("2_a_b", 2, b"a_b"),
        (f"{MAX_NUMBER}_A", MAX_NUMBER, b"A"),
        (f"{MAX_NUMBER + 1}_A", None, b"A"),
        ("9" * 5000 + "_A", None, b"A"),
        ("01_A", None, b"A"),
        ("00_A", None, b"A"),
        ("-1_A", None, b"A"),
        ("\u0661_A", None, b"A"),
        ("1\n_A", None, b"A"),
        ("x_A", None, b"A"),
        ("_A", None, b"A"),
        ("1_", 1, b""),
        ("A", None, b"A"),
        ("1", None, b"1"),
        ("", None, b""),
    ],
)
def test_a_component_has_an_id_only_in_the_form_in_which_ids_are_written(
    text: str, number: int | None, name: bytes
) -> None:
    assert (component(text).id, component(text).name) == (number, name)


def test_empty_parts_are_components() -> None:
    path = parse_op_path("0_1/0//2_A/")
    assert path is not None
    assert [c.name for c in path.components] == [b"", b"A", b""]


def test_a_leading_slash_makes_an_empty_head() -> None:
    path = parse_op_path("/0_1/0/2_A")
    assert path is not None
    assert (path.device, path.count, len(path.components)) == (None, b"0_1", 2)


@given(st.binary(), st.binary().map(lambda raw: raw.replace(b"/", b"_")), st.binary())
def test_executions_of_an_op_differ_in_the_count_alone(head: bytes, count: bytes, path: bytes) -> None:
    head = head.replace(b"/", b"_")
    key = execution_key(b"/".join([head, count, path]))
    assert key == execution_key(b"/".join([head, b"0", path]))
    assert key != execution_key(b"/".join([head, count, path + b"/"]))
    assert key != execution_key(b"/".join([head + b"0", count, path]))


@given(st.binary())
def test_any_bytes_are_read_the_same_as_their_text(raw: bytes) -> None:
    path = parse_op_path(raw)
    assert path == parse_op_path(os.fsdecode(raw))
    assert (path is None) == (raw.count(b"/") < 2)
    if path is not None:
        assert len(path.components) == raw.count(b"/") - 1
        for part, read in zip(raw.split(b"/")[2:], path.components, strict=True):
            assert part.endswith(read.name)
            assert read.id is None or part == b"%d_%b" % (read.id, read.name)
