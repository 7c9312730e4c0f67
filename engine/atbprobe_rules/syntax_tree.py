"""What `parse` makes of a text: the JSON values of a file and the terms of its string fields, with spans.

Nothing here has a meaning yet. A term has the general form of the grammar; whether that form may stand in its
field, and what it selects there, is for `check`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from atbprobe_rules.diagnostics import Span

BLANKS = " \t\r\n"


@dataclass(frozen=True)
class Null:
    """`null`."""

    span: Span


@dataclass(frozen=True)
class Boolean:
    """`true` or `false`."""

    value: bool
    span: Span


@dataclass(frozen=True)
class Number:
    """A number, as written: 1, 1.0 and 1e0 are three different texts."""

    text: str
    span: Span


@dataclass(frozen=True)
class String:
    """A decoded string; its span includes the quotes.

    `offsets[i]` is the place in the source of the character, or of the escape, that became `text[i]`. There
    is one more offset than characters, the place of the closing quote.
    """

    text: str
    offsets: Sequence[int]
    span: Span

    @classmethod
    def implied(cls, text: str, span: Span) -> String:
        """Return a string that nobody wrote, such as a default; all of it lies at the start of `span`."""
        return cls(text, [span.offset] * (len(text) + 1), span)


@dataclass(frozen=True)
class Invalid:
    """Stands where a value was refused; a diagnostic has been given."""

    span: Span


@dataclass(frozen=True)
class Array:
    """A JSON array."""

    items: tuple[Value, ...]
    span: Span


@dataclass(frozen=True)
class Member:
    """A key of an object and its value."""

    key: String | Invalid
    value: Value


@dataclass(frozen=True)
class Object:
    """A JSON object; keys can be there twice."""

    members: tuple[Member, ...]
    span: Span


Value = Null | Boolean | Number | String | Invalid | Array | Object


@dataclass(frozen=True)
class Excerpt:
    """The characters `start` to `stop` (not included) of a decoded string."""

    string: String
    start: int
    stop: int

    @classmethod
    def whole(cls, string: String) -> Excerpt:
        """Return all characters of a string."""
        return cls(string, 0, len(string.text))

    @property
    def text(self) -> str:
        """The characters."""
        return self.string.text[self.start : self.stop]

    @property
    def span(self) -> Span:
        """Where they stand in the source."""
        offset = self.string.offsets[self.start]
        return Span(offset, self.string.offsets[self.stop] - offset)

    def part(self, start: int, stop: int) -> Excerpt:
        """Return an excerpt of this one; both numbers count from its own start."""
        return Excerpt(self.string, self.start + start, self.start + stop)

    def stripped(self) -> Excerpt:
        """Return the excerpt without the blanks at both ends."""
        text = self.text
        start = len(text) - len(text.lstrip(BLANKS))
        return self.part(start, max(start, len(text.rstrip(BLANKS))))


@dataclass(frozen=True)
class Numeral:
    """Digits, maybe with a sign and leading zeros; behind the `>` of a condition also with points and an exponent."""

    text: str
    span: Span


@dataclass(frozen=True)
class RangeForm:
    """`first`, `first-last`, `first-`, each maybe with `/step`."""

    first: Numeral
    up_to: bool
    last: Numeral | None
    step: Numeral | None
    span: Span

    @property
    def plain(self) -> bool:
        """Whether this is a single number."""
        return not self.up_to and self.step is None


@dataclass(frozen=True)
class AllNumbers:
    """`*`."""

    span: Span


@dataclass(frozen=True)
class SubtreeMark:
    """`**`."""

    span: Span


@dataclass(frozen=True)
class Keyword:
    """Letters in the place of a number."""

    text: str
    span: Span


Component = RangeForm | AllNumbers | SubtreeMark | Keyword


@dataclass(frozen=True)
class NumberForm:
    """A term of exec_range, ids or device: components joined by `_`; `excluded` is the span of its `!`."""

    text: str
    components: tuple[Component, ...]
    excluded: Span | None
    span: Span


@dataclass(frozen=True)
class ConditionForm:
    """A term of when: a word, maybe with `> bound` behind it."""

    word: Keyword
    bound: Numeral | None
    span: Span


class PieceKind(enum.Enum):
    """What a piece of a name pattern is; the values are the terminals of the grammar."""

    CHARACTERS = "CHARACTERS"
    ANY_CHARACTERS = "ANY_CHARACTERS"
    ANY_CHARACTER = "ANY_CHARACTER"
    CHARACTER_SET = "CHARACTER_SET"
    ESCAPED = "ESCAPED"
    UNENDED = "UNENDED"


@dataclass(frozen=True)
class Piece:
    """A stretch of a name pattern, as written."""

    kind: PieceKind
    text: str
    span: Span


@dataclass(frozen=True)
class PartForm:
    """What stands between two `/` of a name pattern; can be empty."""

    pieces: tuple[Piece, ...]
    span: Span


@dataclass(frozen=True)
class NameForm:
    """A term of op_name: parts joined by `/`, the first one empty if it begins with `/`."""

    parts: tuple[PartForm, ...]
    excluded: Span | None
    exact: Span | None
    span: Span
