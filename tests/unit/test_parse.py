from __future__ import annotations

import json
import logging
from typing import Any

import lark
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atbprobe_rules.diagnostics import Code, Diagnostic, Source, Span
from atbprobe_rules.grammar import grammar_text
from atbprobe_rules.parse import MAX_DEPTH, parse_json
from atbprobe_rules.parse_terms import parse_name_term, parse_number_term, split_names, split_numbers
from atbprobe_rules.syntax_tree import (
    Array,
    Boolean,
    Excerpt,
    Null,
    Number,
    NumberForm,
    Object,
    String,
    Value,
)

# Every token of JSON, whole and in pieces, so that most texts are nearly JSON.
# fmt: off
SCRAPS = [
    "{", "}", "[", "]", ",", ":", " ", "\n", "\t", '"', '"a"', '"\\n\\u00e9"', '"\\ud83d\\ude00"', "\\", "\\u12",
    "0", "12", "-3", "1.5e+2", "01", "+1", ".5", "1.", "true", "false", "null", "NaN", "x", "\x00", "é",
]
# fmt: on
json_scraps = st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
json_texts = st.builds(json.dumps, json_values, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1, "\t"]))


def standard_value(text: str) -> tuple[bool, Any]:
    """What the standard library makes of a text: whether it is JSON, and its value."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        return True, json.loads(text, parse_constant=refuse)
    except ValueError:
        return False, None


def plain(value: Value) -> Any:
    """The Python value of a tree."""
    if isinstance(value, Null):
        return None
    if isinstance(value, Boolean):
        return value.value
    if isinstance(value, Number):
        return json.loads(value.text)
    if isinstance(value, String):
        return value.text
    if isinstance(value, Array):
        return [plain(item) for item in value.items]
    assert isinstance(value, Object)
    members = {}
    for member in value.members:
        assert isinstance(member.key, String)
        members[member.key.text] = plain(member.value)
    return members


def values_in(value: Value) -> list[Value]:
    if isinstance(value, Array):
        return [value, *(inner for item in value.items for inner in values_in(item))]
    if isinstance(value, Object):
        return [value, *(inner for m in value.members for part in (m.key, m.value) for inner in values_in(part))]
    return [value]


@given(json_scraps | json_texts)
def test_accepts_what_the_standard_accepts(text: str) -> None:
    valid, expected = standard_value(text)
    assume(not any("\ud800" <= character <= "\udfff" for character in json.dumps(expected, ensure_ascii=False)))
    value, found = parse_json(Source("f", text))
    assert (not found) == valid, found
    if valid:
        assert value is not None
        assert plain(value) == expected


@given(json_texts)
def test_every_span_slices_to_its_value(text: str) -> None:
    source = Source("f", text)
    tree, found = parse_json(source)
    assert not found and tree is not None
    for value in values_in(tree):
        assert json.loads(source.slice(value.span)) == plain(value)


@given(st.lists(st.sampled_from(["a", "é", "\U0001f600", "\\u00e9", "\\ud83d\\ude00", "\\n", "\\\\", '\\"', "\\/"])))
def test_every_character_of_a_string_knows_its_place(pieces: list[str]) -> None:
    source = Source("f", '  "' + "".join(pieces) + '" ')
    value, found = parse_json(source)
    assert not found and isinstance(value, String)
    assert len(value.text) == len(pieces)
    for i, piece in enumerate(pieces):
        assert source.slice(Excerpt(value, i, i + 1).span) == piece
    assert source.slice(Excerpt.whole(value).span) == "".join(pieces)


@given(st.text(), st.text())
def test_any_text_is_parsed_or_refused_within_its_bounds(before: str, after: str) -> None:
    text = f"{before}{{{after}"
    _, found = parse_json(Source("f", text))
    for diagnostic in found:
        assert 0 <= diagnostic.span.offset <= diagnostic.span.end <= len(text)


@pytest.mark.parametrize("opener", ["[", '{"a":', '[{"a":'])
def test_deep_nesting_is_refused(opener: str) -> None:
    _, found = parse_json(Source("f", opener * 100_000))
    assert [diagnostic.code for diagnostic in found] == [Code.TOO_DEEP]


def test_depth_up_to_the_limit_is_taken() -> None:
    assert not parse_json(Source("f", "[" * MAX_DEPTH + "]" * MAX_DEPTH))[1]
    assert parse_json(Source("f", "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)))[1]


def test_a_file_of_endless_values_is_refused() -> None:
    _, found = parse_json(Source("f", "[" + "0," * 500_000))
    assert [diagnostic.code for diagnostic in found] == [Code.TOO_LARGE]


@pytest.mark.parametrize(
    ("grammar", "starts", "lexer"),
    [("config", ["start"], "basic"), ("selectors", ["number_term", "name_term", "condition"], "contextual")],
)
def test_the_grammars_have_no_conflicts(
    grammar: str, starts: list[str], lexer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="lark"):
        lark.Lark(grammar_text(grammar), parser="lalr", lexer=lexer, start=starts, debug=True)
    assert not [record for record in caplog.records if "onflict" in record.getMessage()]


# Terms


def excerpt(text: str) -> Excerpt:
    """A field with this text, as if its first character stood at offset 100."""
    return Excerpt.whole(String(text, range(100, 101 + len(text)), Span(99, len(text) + 2)))


def parse_number(text: str) -> tuple[NumberForm | None, list[Diagnostic]]:
    found: list[Diagnostic] = []
    return parse_number_term(excerpt(text), "a term", found), found


def test_splitting_drops_blanks_and_keeps_empty_terms() -> None:
    terms = list(split_numbers(excerpt(" 0,\t2_1 ,, 5"), ","))
    assert [(term.text, term.span) for term in terms] == [
        ("0", Span(101, 1)),
        ("2_1", Span(104, 3)),
        ("", Span(109, 0)),
        ("5", Span(111, 1)),
    ]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a,b", ["a", "b"]),
        ("a[,]b, c", ["a[,]b", "c"]),
        (r"a\,b,c", [r"a\,b", "c"]),
        (r"[\],],c", [r"[\],]", "c"]),
        ("a[b,c", ["a[b", "c"]),
        ("a,\\", ["a", "\\"]),
        ("", [""]),
    ],
)
def test_a_comma_within_brackets_or_behind_a_backslash_splits_no_name(text: str, terms: list[str]) -> None:
    assert [term.text for term in split_names(excerpt(text))] == terms


def test_the_general_form_of_a_number_term() -> None:
    form, found = parse_number("!0-100/10_7-_*_**_x")
    assert form is not None and not found
    assert form.excluded == Span(100, 1)
    assert [component.span for component in form.components] == [
        Span(101, 8),
        Span(110, 2),
        Span(113, 1),
        Span(115, 2),
        Span(118, 1),
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [("3x", 1), ("2_", 2), ("_2", 0), ("2__1", 2), ("1.5", 1), ("2 3", 1), ("3-4-5", 3), ("!", 1), ("é", 0), ("/2", 0)],
)
def test_a_bad_number_term_is_refused_where_it_goes_wrong(text: str, place: int) -> None:
    form, found = parse_number(text)
    assert form is None
    assert [(d.code, d.span) for d in found] == [(Code.BAD_TERM, Span(100 + place, len(text) - place))]


def test_the_general_form_of_a_name_term() -> None:
    found: list[Diagnostic] = []
    form = parse_name_term(excerpt(r"!=/ab*/**/c[!x]?\/d"), found)
    assert form is not None and not found
    assert form.excluded == Span(100, 1)
    assert form.exact == Span(101, 1)
    assert [[piece.text for piece in part.pieces] for part in form.parts] == [
        [],
        ["ab", "*"],
        ["**"],
        ["c", "[!x]", "?", r"\/", "d"],
    ]
    assert [part.span for part in form.parts] == [Span(102, 0), Span(103, 3), Span(107, 2), Span(110, 9)]


@given(st.text(min_size=1))
def test_any_name_term_is_the_sum_of_its_parts(text: str) -> None:
    found: list[Diagnostic] = []
    form = parse_name_term(excerpt(text), found)
    if form is None:
        assert found
        return
    marks = "!" * (form.excluded is not None) + "=" * (form.exact is not None)
    assert marks + "/".join("".join(piece.text for piece in part.pieces) for part in form.parts) == text
