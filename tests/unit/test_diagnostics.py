from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.diagnostics import (
    WINDOW_LENGTH,
    Code,
    Related,
    Source,
    Span,
    error,
    printable,
    quoted,
    render,
    sort_by_place,
    warning,
)


def columns_of(text: str) -> int:
    """The columns that a terminal gives to a text, counted independently of the module."""
    width = 0
    for character in text:
        if unicodedata.combining(character) == 0:
            width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return width


def carets(rendered: str, text: str) -> tuple[int, int]:
    """The first column and the number of carets in the line under the one that shows `text`."""
    lines = rendered.split("\n")
    under = lines[next(i for i, line in enumerate(lines) if text in line) + 1]
    return under.index("^"), under.count("^")


@pytest.mark.parametrize(
    ("text", "offset", "position"),
    [
        ("", 0, (1, 1)),
        ("ab", 2, (1, 3)),
        ("a\nb", 1, (1, 2)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("a\rb", 2, (2, 1)),
        ("a\n\nb", 2, (2, 1)),
        ("a\n\n", 3, (3, 1)),
        ("中é\U0001f600x", 3, (1, 4)),
        ("a\u2028b", 2, (1, 3)),
    ],
)
def test_positions_count_lines_and_characters_from_one(text: str, offset: int, position: tuple[int, int]) -> None:
    assert Source("f", text).position(offset) == position


@given(st.text(alphabet="ab\r\n中", max_size=30), st.data())
def test_a_position_leads_back_to_its_place(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    source = Source("f", text)
    line, column = source.position(offset)
    start = source.line_span(offset)
    assert start.offset + column - 1 == offset
    assert line == 1 + text[: start.offset].replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert not set(source.slice(start)) & set("\r\n")


def test_a_diagnostic_is_rendered_with_its_line_and_carets() -> None:
    source = Source("config.json", '{\n  "task": "stats"\n}')
    diagnostic = error(Code.BAD_TASK, Span(12, 7), 'there is no task "stats"', "a hint", Related(Span(0, 1), "in this"))
    assert render(diagnostic, source) == (
        'config.json:2:11: error[bad-task]: there is no task "stats"\n'
        '      "task": "stats"\n'
        "              ^^^^^^^\n"
        "    hint: a hint\n"
        "config.json:1:1: note: in this\n"
        "    {\n"
        "    ^"
    )


def test_json_has_exactly_the_promised_keys() -> None:
    source = Source("f", "a\nbcd")
    diagnostic = warning(Code.DUPLICATE_TERM, Span(3, 2), "twice", None, Related(Span(0, 1), "first"))
    assert diagnostic.to_json(source) == {
        "code": "duplicate-term",
        "severity": "warning",
        "line": 2,
        "column": 2,
        "length": 2,
        "message": "twice",
        "hint": None,
        "related": [{"line": 1, "column": 1, "length": 1, "message": "first"}],
    }


@pytest.mark.parametrize("before", ["abc", "\t", "a\tb\t", "中文", "e\u0301e\u0301", "\x1b[31m", "中\te\u0301\x07"])
def test_the_caret_stands_under_its_character(before: str) -> None:
    source = Source("f", f"{before}X!")
    rendered = render(error(Code.SYNTAX, Span(len(before), 1), "here"), source)
    shown = rendered.split("\n")[1]
    assert carets(rendered, "X!") == (columns_of(shown[: shown.index("X")]), 1)


def test_a_wide_span_has_carets_for_all_its_columns() -> None:
    assert carets(render(error(Code.SYNTAX, Span(1, 2), "here"), Source("f", '"中文"')), "中文")[1] == 4


def test_a_span_of_several_lines_is_marked_on_its_first_line() -> None:
    assert carets(render(error(Code.SYNTAX, Span(1, 5), "here"), Source("f", "abc\ndef")), "abc") == (5, 2)


@pytest.mark.parametrize("offset", [0, 40, 70, 500, 4990, 5000])
def test_a_long_line_is_shown_in_part(offset: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(5000))
    lines = render(error(Code.SYNTAX, Span(offset, 1), "here"), Source("f", text)).split("\n")
    assert len(lines[1]) <= 4 + WINDOW_LENGTH + 2
    column = lines[2].index("^")
    if offset < len(text):
        assert lines[1][column] == text[offset]
    else:
        assert column == len(lines[1])


def test_a_span_longer_than_the_window_is_marked_to_its_end() -> None:
    lines = render(error(Code.SYNTAX, Span(0, 5000), "here"), Source("f", "x" * 5000)).split("\n")
    assert lines[2].count("^") == WINDOW_LENGTH


def test_what_a_terminal_acts_on_is_escaped() -> None:
    assert printable("a\x1b[31m\x07\u202e\u2028\x7f\x9b\ud800é中") == (
        "a\\x1b[31m\\x07\\u{202e}\\u{2028}\\x7f\\x9b\\u{d800}é中"
    )


@given(st.text(max_size=60), st.text(max_size=20), st.data())
def test_nothing_raw_reaches_the_terminal(text: str, message: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    span = Span(offset, data.draw(st.integers(0, len(text) - offset)))
    source = Source(f"dir\n{message}", text)
    rendered = render(error(Code.SYNTAX, span, message, message, Related(span, message)), source)
    for line in rendered.split("\n"):
        assert not any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in line)


def test_long_words_are_cut_in_messages() -> None:
    assert quoted("x" * 60) == '"' + "x" * 60 + '"'
    assert len(quoted("x" * 61)) == 62
    assert quoted("x" * 61).endswith('…"')


def test_sorting_goes_by_place_and_keeps_the_order_within_one() -> None:
    first = error(Code.SYNTAX, Span(1, 2), "first")
    second = warning(Code.SHADOWED_TERM, Span(1, 2), "second")
    early = error(Code.SYNTAX, Span(0, 9), "early")
    inner = error(Code.SYNTAX, Span(1, 1), "inner")
    assert sort_by_place([first, second, inner, early]) == (early, inner, first, second)
