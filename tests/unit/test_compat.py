"""What is said of a file as the published probe reads it. That it reads so is tests/peer/test_compat.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from inputs import configs

from atbprobe_rules.check import MAX_BYTES, check_config
from atbprobe_rules.compat import PUBLISHED_FIELDS, PublishedReading, read_as_published
from atbprobe_rules.compiled_config import compile_config
from atbprobe_rules.config_file import Reading
from atbprobe_rules.diagnostics import Severity
from atbprobe_rules.program import SECTIONS, SectionKind

SAME = "compat-same"


def read(config: object) -> PublishedReading:
    text = config if isinstance(config, str) else json.dumps(config, ensure_ascii=False)
    return read_as_published(check_config(text.encode(), "config.json"))


def notes(config: object) -> list[tuple[str, str]]:
    """The code of each note and the text that it points at."""
    text = config if isinstance(config, str) else json.dumps(config, ensure_ascii=False)
    found = read(text).notes
    assert {note.severity for note in found} == {Severity.NOTE}
    return [(note.code.value, text[note.span.offset : note.span.end]) for note in found]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"dump_enable": True, "exec_range": "0,1,5,5", "ids": "0,2_1", "op_name": "word,LM", "device": "0,7"},
        {"dump_enable": True, "exec_range": "none", "task": "all", "filter_level": 2, "save_child": True},
        {"exec_range": " 0 , 2147483647 ", "op_name": "prefill_layer/attention", "save_child": True},
        {"exec_range": "NONE"},
    ],
)
def test_what_both_read_alike_needs_no_note(config: dict[str, Any]) -> None:
    assert notes(config) == [(SAME, "")]
    complete = {name: field.default for name, field in PUBLISHED_FIELDS.items()} | config
    assert tables(read(config).config or {}) == tables(complete)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"ids": "0, 2_1"}, [("compat-nothing", " 2_1")]),
        ({"ids": "0,,1"}, [("compat-ignored", "")]),
        ({"ids": "2-3,*_1,!4"}, [("compat-nothing", "2-3"), ("compat-nothing", "*_1"), ("compat-nothing", "!4")]),
        ({"ids": 2}, [("compat-default", "2")]),
        ({"op_name": "word,[a,b]x"}, [("compat-nothing", "[a"), ("compat-nothing", "b]x")]),
        ({"op_name": "wörd, ,x"}, [("compat-nothing", "wörd"), ("compat-nothing", " ")]),
        ({"op_name": "a/b"}, [("compat-nothing", "a/b")]),
        ({"op_name": "a/b,c/", "save_child": True}, [("compat-other-value", "c/")]),
        ({"op_name": "/a", "save_child": True}, [("compat-nothing", "/a")]),
        ({"exec_range": "5"}, [("compat-nothing", '"5"')]),
        ({"exec_range": "2,5,8"}, [("compat-ignored", "8")]),
        ({"exec_range": "0,-1"}, [("compat-other-value", "-1")]),
        ({"exec_range": "7,3,0,2147483648"}, [("compat-nothing", "7,3"), ("compat-other-value", "2147483648")]),
        ({"device": "0, 1,-1"}, [("compat-nothing", " 1"), ("compat-other-value", "-1")]),
        ({"task": "stats"}, [("compat-nothing", '"stats"')]),
        ({"task": ""}, [("compat-default", '""')]),
        ({"filter_level": 3}, [("compat-default", "3")]),
        ({"filter_level": 1.5}, [("compat-other-value", "1.5")]),
        ({"next": 2, "id": "0"}, [("compat-ignored", '"next"'), ("compat-ignored", '"id"')]),
        (
            {"when": "nan", "stop_after": 1, "max_bytes": "1 GiB", "max_tensor_bytes": 9},
            [("compat-ignored", f'"{key}"') for key in ("when", "stop_after", "max_bytes", "max_tensor_bytes")],
        ),
        ('{"ids": "0", "ids": "1"}', [("compat-overridden", '"ids"')]),
        ("{} x", [("compat-ignored", "x")]),
        ("[]", [("compat-default", "[]")]),
        ('{"ids": "0",}', [("compat-unreadable", ",")]),
        ('{"x": [{"y": -1e999}]}', [("compat-unreadable", "-1e999")]),
        ("", [("compat-unreadable", "")]),
        ("[" * 40 + "]" * 40, [("compat-not-told", "[")]),
    ],
    ids=str,
)
def test_each_difference_has_a_note_at_its_place(config: object, expected: list[tuple[str, str]]) -> None:
    assert notes(config) == expected


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        ({"ids": " 2", "op_name": "word"}, {"op_name": "word", "ids": ""}),
        ({"ids": " 2"}, {"ids": "", "exec_range": "none"}),
        ({"device": "0-3"}, {"exec_range": "none"}),
        ({"exec_range": "5,-1"}, {"exec_range": "5,18446744073709551615"}),
        ({"exec_range": "3,-4,0,-1"}, {"exec_range": "all"}),
        ({"op_name": "a/", "save_child": True}, {"op_name": "a/*", "save_child": True}),
        ({"rules": [{"ids": "1"}], "match": "all"}, {}),
    ],
    ids=str,
)
def test_the_config_that_it_comes_to(config: dict[str, Any], changed: dict[str, Any]) -> None:
    defaults = {name: field.default for name, field in PUBLISHED_FIELDS.items()}
    assert read(config).config == defaults | changed


@pytest.mark.parametrize("config", [{"task": "stats"}, {"device": "-1"}, "", '{"ids": "0"'], ids=str)
def test_what_no_config_comes_to(config: object) -> None:
    assert read(config).config is None


def test_a_file_that_is_too_large_is_not_told_of() -> None:
    checked = check_config(b"[" + b" " * MAX_BYTES, "config.json")
    assert [note.code.value for note in read_as_published(checked).notes] == ["compat-not-told"]


def test_bytes_that_are_no_text() -> None:
    checked = check_config(b'{"ids": "\xff"}', "config.json")
    assert [note.code.value for note in read_as_published(checked).notes] == ["compat-unreadable"]


values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(" 0123,_-+!*/|xall\0\t", max_size=12)
)


@given(configs)
def test_where_there_is_no_note_both_mean_the_same(config: bytes) -> None:
    checked = check_config(config, "config.json")
    published = read_as_published(checked)
    assert published.config is not None
    same_tables = tables(json.loads(config)) == tables(published.config)
    if [note.code.value for note in published.notes] == [SAME]:
        assert same_tables
    event(f"the same tables: {same_tables}")


@given(st.dictionaries(st.sampled_from([*PUBLISHED_FIELDS, "match", "x"]), values))
def test_any_values_come_to_a_config_that_is_taken_and_read_alike(config: dict[str, Any]) -> None:
    """That config then means the same to both, but for rounds beyond an int, or as far as it can be written."""
    published = read(config).config
    if published is None:
        return
    if "/*" in published["op_name"]:
        published["op_name"] = ""
    assert tables(published)
    again = read(published)
    assert {note.code.value for note in again.notes} <= {SAME, "compat-other-value", "compat-nothing"}
    again_config = again.config
    assert again_config is not None
    assert {**again_config, "exec_range": ""} == {**published, "exec_range": ""}


def tables(config: dict[str, Any]) -> dict[str, bytes]:
    """The tables of the program but for where its rules stand in the file."""
    program = compile_config(Reading(json.dumps(config).encode()), Path("config.json")).program
    assert program is not None
    names = [name for kind, (name, _) in SECTIONS.items() if kind is not SectionKind.RULE_NAMES]
    return {name: getattr(program, name).tobytes() for name in names}
