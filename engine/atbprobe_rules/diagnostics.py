"""Diagnostics as data: what is wrong, where, and what to write instead; rendered last, by whoever prints.

A place is a `Span` of characters of a `Source`. Lines and columns are worked out only when a diagnostic
leaves the program, as JSON or as text with a caret line under the source line. The caret stands right under
what it points at because both lines go through the same table of cells: a tab, a wide character, a combining
mark or a control character (shown as an escape, never sent to the terminal) takes as many columns below as it
does above.
"""

from __future__ import annotations

import bisect
import enum
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

TAB_WIDTH = 4
WINDOW_BEFORE = 60
WINDOW_LENGTH = 140
"""The longest stretch of a source line that is shown, and its longest part before the span, in characters."""

QUOTE_LENGTH = 60

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Severity(enum.Enum):
    """An error refuses the config; a warning and a note do not. A note is the answer to a question that was asked."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(enum.Enum):
    """The stable names of everything a config can be told."""

    # the file as a whole
    NO_FILE = "no-file"
    UNREADABLE_FILE = "unreadable-file"
    UNTRUSTED_FILE = "untrusted-file"
    TOO_LARGE = "too-large"
    NOT_UTF8 = "not-utf8"
    EMPTY_FILE = "empty-file"
    # JSON
    SYNTAX = "syntax"
    TOO_DEEP = "too-deep"
    TRAILING_TEXT = "trailing-text"
    MISSING_COMMA = "missing-comma"
    EXTRA_COMMA = "extra-comma"
    BAD_VALUE = "bad-value"
    BAD_STRING = "bad-string"
    # fields
    NOT_AN_OBJECT = "not-an-object"
    UNKNOWN_KEY = "unknown-key"
    DUPLICATE_KEY = "duplicate-key"
    WRONG_TYPE = "wrong-type"
    BAD_TASK = "bad-task"
    BAD_FILTER_LEVEL = "bad-filter-level"
    BAD_MATCH = "bad-match"
    BAD_IO = "bad-io"
    BAD_COUNT = "bad-count"
    BAD_SIZE = "bad-size"
    BAD_CONDITION = "bad-condition"
    CONFLICTING_KEYS = "conflicting-keys"
    MATCH_NEEDS_BOTH = "match-needs-both"
    # rules
    MISPLACED_KEY = "misplaced-key"
    NO_RULES = "no-rules"
    TOO_MANY_RULES = "too-many-rules"
    BAD_NAME = "bad-name"
    DUPLICATE_NAME = "duplicate-name"
    # terms
    EMPTY_VALUE = "empty-value"
    EMPTY_TERM = "empty-term"
    BAD_TERM = "bad-term"
    BAD_NUMBER = "bad-number"
    REVERSED_RANGE = "reversed-range"
    ODD_ROUNDS = "odd-rounds"
    # the rules as a whole
    TOO_COMPLEX = "too-complex"
    # warnings
    DUPLICATE_TERM = "duplicate-term"
    SHADOWED_TERM = "shadowed-term"
    EXCLUDED_TERM = "excluded-term"
    DEAD_RULE = "dead-rule"
    SHADOWED_RULE = "shadowed-rule"
    UNUSED_KEY = "unused-key"
    UNUSED_LIMIT = "unused-limit"
    # notes: what the published probe makes of the file
    COMPAT_SAME = "compat-same"
    COMPAT_UNREADABLE = "compat-unreadable"
    COMPAT_NOT_TOLD = "compat-not-told"
    COMPAT_IGNORED = "compat-ignored"
    COMPAT_OVERRIDDEN = "compat-overridden"
    COMPAT_DEFAULT = "compat-default"
    COMPAT_NOTHING = "compat-nothing"
    COMPAT_OTHER_VALUE = "compat-other-value"


@dataclass(frozen=True, order=True)
class Span:
    """`length` characters from `offset` (counted from 0) on; a length of 0 is the place before it."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """The offset just after the span."""
        return self.offset + self.length

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.offset, other.end - self.offset)


@dataclass(frozen=True)
class Source:
    """The text of a file, without a byte order mark, and the name to call it by."""

    filename: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both from 1, columns in characters."""
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_span(self, offset: int) -> Span:
        """Return the line that holds `offset`, without its line break."""
        line = bisect.bisect_right(self._line_starts, offset)
        start = self._line_starts[line - 1]
        if line == len(self._line_starts):
            return Span(start, len(self.text) - start)
        end = self._line_starts[line]
        return Span(start, end - (2 if self.text.endswith("\r\n", start, end) else 1) - start)

    def slice(self, span: Span) -> str:
        """Return the characters of `span`."""
        return self.text[span.offset : span.end]


@dataclass(frozen=True)
class Related:
    """A second place that a diagnostic speaks of."""

    span: Span
    message: str

    def to_json(self, source: Source) -> dict[str, Any]:
        """Return line, column, length and message."""
        line, column = source.position(self.span.offset)
        return {"line": line, "column": column, "length": self.span.length, "message": self.message}


@dataclass(frozen=True)
class Diagnostic:
    """One thing to say about a config. `hint` says what to write instead, where that can be known."""

    code: Code
    severity: Severity
    span: Span
    message: str
    hint: str | None = None
    related: tuple[Related, ...] = ()

    def to_json(self, source: Source) -> dict[str, Any]:
        """Return the object that `check --json` prints; lines and columns count from 1."""
        line, column = source.position(self.span.offset)
        return {
            "code": self.code.value,
            "severity": self.severity.value,
            "line": line,
            "column": column,
            "length": self.span.length,
            "message": self.message,
            "hint": self.hint,
            "related": [related.to_json(source) for related in self.related],
        }


def error(code: Code, span: Span, message: str, hint: str | None = None, *related: Related) -> Diagnostic:
    """Make an error."""
    return Diagnostic(code, Severity.ERROR, span, message, hint, related)


def warning(code: Code, span: Span, message: str, hint: str | None = None, *related: Related) -> Diagnostic:
    """Make a warning."""
    return Diagnostic(code, Severity.WARNING, span, message, hint, related)


def note(code: Code, span: Span, message: str, hint: str | None = None, *related: Related) -> Diagnostic:
    """Make a note."""
    return Diagnostic(code, Severity.NOTE, span, message, hint, related)


def sort_by_place(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics in the order of the file; those of one place stay in the order they came in."""
    return tuple(sorted(diagnostics, key=lambda diagnostic: diagnostic.span))


def quoted(text: str) -> str:
    """Return `text` in double quotes for a message, cut when it is long."""
    return f'"{text}"' if len(text) <= QUOTE_LENGTH else f'"{text[: QUOTE_LENGTH - 1]}…"'


def render(diagnostic: Diagnostic, source: Source) -> str:
    """Return the diagnostic as text of a few lines without a final line break, safe to send to a terminal."""
    kind = f"{diagnostic.severity.value}[{diagnostic.code.value}]"
    lines = _render_place(source, diagnostic.span, f"{kind}: {diagnostic.message}")
    if diagnostic.hint is not None:
        lines.append(f"    hint: {printable(diagnostic.hint)}")
    for related in diagnostic.related:
        lines += _render_place(source, related.span, f"note: {related.message}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Return all diagnostics as text, one after the other."""
    return "\n".join(render(diagnostic, source) for diagnostic in diagnostics)


def printable(text: str) -> str:
    """Return `text` with everything a terminal could act on, or that would break the line, as an escape."""
    if text.isascii() and text.isprintable():  # nearly always, and there may be a million of them
        return text
    return "".join(_cell(character)[0] for character in text)


def _render_place(source: Source, span: Span, message: str) -> list[str]:
    line, column = source.position(span.offset)
    head = f"{printable(source.filename)}:{line}:{column}: {printable(message)}"
    shown, start, length = _show_line(source, span)
    if not shown:
        return [head]
    return [head, f"    {shown}", f"    {' ' * start}{'^' * length}"]


def _show_line(source: Source, span: Span) -> tuple[str, int, int]:
    """Return the source line as shown, and the column (from 0) and number of the carets under it."""
    line = source.line_span(span.offset)
    window_start = max(line.offset, span.offset - WINDOW_BEFORE)
    window_end = min(line.end, window_start + WINDOW_LENGTH)
    shown = "…" if window_start > line.offset else ""
    width = len(shown)
    caret_start = caret_end = width
    for offset in range(window_start, window_end):
        if offset == span.offset:
            caret_start = caret_end = width
        text, cells = _cell(source.text[offset], width)
        shown += text
        width += cells
        if span.offset <= offset < span.end:
            caret_end = width
    if span.offset >= window_end:
        caret_start = caret_end = width
    if window_end < line.end:
        shown += "…"
    return shown.rstrip(), caret_start, max(1, caret_end - caret_start)


def _cell(character: str, column: int | None = None) -> tuple[str, int]:
    """Return what is shown for a character and its width; a tab is expanded if its column is given."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t" and column is not None:
        cells = TAB_WIDTH - column % TAB_WIDTH
        return " " * cells, cells
    category = unicodedata.category(character)
    # Cf holds the marks that reorder text on the screen; Zl and Zp break lines.
    if category[0] == "C" or category in ("Zl", "Zp"):
        number = ord(character)
        escape = f"\\x{number:02x}" if number < 0x100 else f"\\u{{{number:x}}}"
        return escape, len(escape)
    if category in ("Mn", "Me"):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1
