"""From the text of a file to its JSON values.

The grammar of JSON is wider than the standard, and what it lets through too much is refused here while the
tree is built. So most mistakes do not end the parse. One that does, ends it at that place only: what is open
is closed as if it had been written, and the part before is still checked.

lark is imported, and its parser is built, when the first file is parsed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Source, Span, error, quoted
from atbprobe_rules.fields import nearest_word
from atbprobe_rules.grammar import grammar_text
from atbprobe_rules.syntax_tree import Array, Boolean, Invalid, Member, Null, Number, Object, String, Value

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

    Branch = Tree[Token] | Token


class _Session(Protocol):
    """What is used of lark's InteractiveParser, most of which has no types."""

    def accepts(self) -> set[str]: ...
    def feed_token(self, token: Token) -> Any: ...


MAX_DEPTH = 32
MAX_TOKENS = 16_384
"""Limits of a file that no config comes near: 64 rules with every key they can have are 4,000 tokens."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CLOSERS = {"OBJECT_START": "OBJECT_END", "ARRAY_START": "ARRAY_END"}
_COMMENT_STARTS = ("//", "/*", "#")

# A surrogate pair is two escapes for one character, and one half alone is none.
_SPECIAL = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\x00-\x1f]", re.DOTALL
)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@functools.cache
def _config_parser() -> Lark:
    from lark import Lark

    return Lark(grammar_text("config"), parser="lalr", lexer="basic")


def parse_json(source: Source) -> tuple[Value | None, list[Diagnostic]]:
    """Parse the text of a file; without errors it is one JSON value as RFC 8259 has it.

    The value is None if there is nothing to look at. If there are errors it can hold `Invalid` values and
    lack what stands behind a syntax error.
    """
    found: list[Diagnostic] = []
    tree = _parse_tokens(source, found)
    value = _Builder(found).value(tree) if tree is not None else None
    return value, found


def _parse_tokens(source: Source, found: list[Diagnostic]) -> Tree[Token] | None:
    from lark import UnexpectedToken

    session: _Session = _config_parser().parse_interactive(source.text)
    opened: list[Token] = []
    last: Token | None = None
    for count, token in enumerate(_config_parser().lex(source.text)):
        span = _token_span(token)
        problem = None
        if last is not None and not opened:
            hint = "a config is one JSON object and nothing else"
            problem = error(Code.TRAILING_TEXT, span, "there is text after the end of the config", hint)
        elif count == MAX_TOKENS:
            problem = error(Code.TOO_LARGE, span, "the file goes on, and this is more than any config can hold")
        elif token.type == "WORD" and token.startswith(_COMMENT_STARTS):
            problem = error(Code.SYNTAX, span, "JSON has no comments")
        elif token.type in _CLOSERS and len(opened) == MAX_DEPTH:
            problem = error(Code.TOO_DEEP, span, f"nested more than {MAX_DEPTH} deep")
        else:
            try:
                session.feed_token(token)
            except UnexpectedToken as unexpected:
                problem = _syntax_error(token, unexpected.expected, last, opened)
        if problem is not None:
            found.append(problem)
            break
        if token.type in _CLOSERS:
            opened.append(token)
        elif token.type in _CLOSERS.values():
            opened.pop()
        last = token
    else:
        if last is None:
            found.append(error(Code.EMPTY_FILE, Span(0, 0), "the file is empty"))
        elif opened:
            found.append(_unclosed(source, opened[-1]))
    return _finish(session, opened) if last is not None else None


def _finish(session: _Session, opened: list[Token]) -> Tree[Token]:
    """Close what is still open, with tokens that take no room, and return the tree."""
    from lark import Token

    def feed(kind: str) -> None:
        session.feed_token(Token(kind, "", start_pos=place, end_pos=place))

    place = max((opener.end_pos or 0 for opener in opened), default=0)
    if "COLON" in session.accepts():
        feed("COLON")
    if opened and _CLOSERS[opened[-1].type] not in session.accepts():
        feed("WORD")
    for opener in reversed(opened):
        feed(_CLOSERS[opener.type])
    tree: Tree[Token] = session.feed_token(Token("$END", ""))
    return tree


def _syntax_error(token: Token, expected: set[str], last: Token | None, opened: list[Token]) -> Diagnostic:
    span = _token_span(token)
    if last is not None and last.type == "COLON":
        return error(Code.SYNTAX, span, f"a value is missing before {_shown(token)}")
    if "COLON" in expected:
        return error(Code.SYNTAX, span, f'":" and a value must follow the key, not {_shown(token)}')
    related = [Related(_token_span(opened[-1]), "inside what is opened here")] if opened else []
    return error(Code.SYNTAX, span, f"{_shown(token)} cannot stand here", None, *related)


def _unclosed(source: Source, opener: Token) -> Diagnostic:
    return error(
        Code.SYNTAX,
        Span(len(source.text), 0),
        f'the file ends, and "{opener}" is not closed',
        None,
        Related(_token_span(opener), "opened here"),
    )


def _shown(token: Token) -> str:
    """Return a token for a message, in one pair of quotes."""
    return quoted(token.strip('"'))


def _token_span(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, (token.end_pos or start) - start)


class _Builder:
    """Makes values of lark's tree; its depth, hence the recursion, is bounded by MAX_DEPTH."""

    def __init__(self, found: list[Diagnostic]) -> None:
        self._found = found

    def value(self, branch: Branch) -> Value:
        from lark import Token

        if isinstance(branch, Token):
            return self._string(branch) if branch.type in ("STRING", "UNENDED_STRING") else self._word(branch)
        if branch.data == "start":
            return self.value(branch.children[0])
        children = branch.children
        first, last = children[0], children[-1]
        assert isinstance(first, Token) and isinstance(last, Token)
        span = _token_span(first).to(_token_span(last))
        items = self._without_commas(children[1:-1], last)
        if branch.data == "array":
            return Array(tuple(self.value(item) for item in items), span)
        return Object(tuple(self._member(item) for item in items), span)

    def _without_commas(self, children: list[Branch], closer: Token) -> Iterator[Branch]:
        """Yield the items between the commas; exactly one comma must stand between two items."""
        from lark import Token

        comma: Token | None = None
        some = False
        for child in children:
            if isinstance(child, Token) and child.type == "COMMA":
                if comma is not None or not some:
                    self._refuse(Code.EXTRA_COMMA, _token_span(child), "nothing stands before this comma")
                comma = child
                continue
            if some and comma is None:
                start = Span(_start_of(child), 0)
                self._refuse(Code.MISSING_COMMA, start, "a comma is missing before this")
            comma, some = None, True
            yield child
        if comma is not None and some and closer:
            self._refuse(Code.EXTRA_COMMA, _token_span(comma), f'a comma cannot stand before "{closer}"')

    def _member(self, branch: Branch) -> Member:
        from lark import Token

        assert not isinstance(branch, Token)
        key, _, value = branch.children
        assert isinstance(key, Token)
        if key.type == "STRING":
            return Member(self._string(key), self.value(value))
        self._refuse(Code.BAD_VALUE, _token_span(key), "a key is a string in double quotes")
        return Member(Invalid(_token_span(key)), self.value(value))

    def _word(self, token: Token) -> Value:
        span = _token_span(token)
        if token == "null":
            return Null(span)
        if token in ("true", "false"):
            return Boolean(token == "true", span)
        if _NUMBER.fullmatch(token):
            return Number(str(token), span)
        if token:
            near = {"True": "true", "False": "false", "None": "null"}.get(token)
            near = near or nearest_word(token, ("true", "false", "null"))
            hint = f"did you mean {near}?" if near else "strings are written in double quotes"
            if token[0] in "+-.0123456789":
                hint = "numbers are written like 12 in JSON"
            elif token.lower() in ("nan", "infinity"):
                hint = "JSON has numbers only, such as 12"
            self._refuse(Code.BAD_VALUE, span, f"{quoted(token)} is not a JSON value", hint)
        return Invalid(span)

    def _string(self, token: Token) -> String | Invalid:
        """Decode a string, and note for each character where it stands in the source."""
        span = _token_span(token)
        if token.type == "UNENDED_STRING":
            self._refuse(Code.BAD_STRING, span, "the string does not end on its line", 'a " is missing')
            return Invalid(span)
        raw = token[1:-1]
        start = span.offset + 1
        if not _SPECIAL.search(raw):
            return String(raw, range(start, start + len(raw) + 1), span)
        text: list[str] = []
        offsets: list[int] = []
        plain_from = 0
        sound = True
        for match in _SPECIAL.finditer(raw):
            text.append(raw[plain_from : match.start()])
            offsets += range(start + plain_from, start + match.start())
            plain_from = match.end()
            offsets.append(start + match.start())
            character = _unescape(match.group())
            if character is None:
                sound = False
                self._refuse_characters(match.group(), Span(offsets[-1], len(match.group())))
            else:
                text.append(character)
        text.append(raw[plain_from:])
        offsets += range(start + plain_from, start + len(raw) + 1)
        return String("".join(text), offsets, span) if sound else Invalid(span)

    def _refuse_characters(self, raw: str, span: Span) -> None:
        if not raw.startswith("\\"):
            escape = {"\t": "\\t", "\b": "\\b", "\f": "\\f"}.get(raw, f"\\u{ord(raw):04x}")
            message = "a control character cannot stand in a string"
            self._refuse(Code.BAD_STRING, span, message, f"write {escape} for it")
        elif raw == "\\u":
            self._refuse(Code.BAD_STRING, span, "\\u needs four hexadecimal digits")
        elif len(raw) == 6:
            self._refuse(Code.BAD_STRING, span, f"{raw} is half of a surrogate pair")
        else:
            self._refuse(Code.BAD_STRING, span, f"{raw} is no escape of JSON", "a backslash is written \\\\")

    def _refuse(self, code: Code, span: Span, message: str, hint: str | None = None) -> None:
        self._found.append(error(code, span, message, hint))


def _start_of(branch: Branch) -> int:
    from lark import Token

    while not isinstance(branch, Token):
        branch = branch.children[0]
    return branch.start_pos or 0


def _unescape(raw: str) -> str | None:
    """Return the character that an escape stands for; None for what is not allowed in a string."""
    if raw[0] != "\\":
        return None
    if len(raw) == 2:
        return _ESCAPES.get(raw[1])
    character = bytes.fromhex(raw.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
    return None if "\ud800" <= character <= "\udfff" else character
