"""From the text of a string field to the syntax of its terms.

A field is split first and each term parsed alone, so that one bad term does not hide the next. What is wrong
with the form of a term is reported here; whether the form may stand in its field is not asked.

Most terms are plain, numbers joined by `_` or words joined by `/`, and there can be tens of thousands of them. Those
have one possible form, which is made without the parser: the same one, only sooner.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from atbprobe_rules.diagnostics import Code, Diagnostic, Span, error, quoted
from atbprobe_rules.grammar import grammar_text
from atbprobe_rules.syntax_tree import (
    AllNumbers,
    Component,
    ConditionForm,
    Excerpt,
    Keyword,
    NameForm,
    NumberForm,
    Numeral,
    PartForm,
    Piece,
    PieceKind,
    RangeForm,
    SubtreeMark,
)

if TYPE_CHECKING:
    from lark import Lark, Token, Tree, UnexpectedInput

_NAME_SEPARATOR = re.compile(r"\\.|\[!?(?:\\.|[^\]\\])+\]|(?P<comma>,)", re.DOTALL)
"""The commas that split op_name, and what can hide one: CHARACTER_SET and ESCAPED of the grammar."""

_PLAIN_NUMBERS = re.compile(r"[0-9]+(?:_[0-9]+)*")
_PLAIN_NAMES = re.compile(r"[^!=/*?\[\\][^/*?\[\\]*(?:/[^/*?\[\\]+)*")


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    starts = ["number_term", "name_term", "condition"]
    return Lark(grammar_text("selectors"), parser="lalr", start=starts, maybe_placeholders=True)


@functools.lru_cache(maxsize=1024)
def _tree(start: str, text: str) -> Tree[Token]:
    """Parse one term; the offsets in the tree count from the start of the term, so equal terms share it."""
    return _parser().parse(text, start=start)


def split_numbers(field: Excerpt, separator: str) -> Iterator[Excerpt]:
    """Yield the terms of exec_range, ids, device or when, without the blanks around them; some can be empty."""
    start = 0
    for text in field.text.split(separator):
        yield field.part(start, start + len(text)).stripped()
        start += len(text) + len(separator)


def split_names(field: Excerpt) -> Iterator[Excerpt]:
    """Yield the terms of op_name, without the blanks around them; some can be empty."""
    start = 0
    text = field.text
    for match in _NAME_SEPARATOR.finditer(text):
        if match["comma"]:
            yield field.part(start, match.start()).stripped()
            start = match.end()
    yield field.part(start, len(text)).stripped()


def parse_number_term(term: Excerpt, what: str, found: list[Diagnostic]) -> NumberForm | None:
    """Parse a term that is not empty; `what` says in the diagnostic what the term should have been."""
    text = term.text
    if _PLAIN_NUMBERS.fullmatch(text):
        return _plain_numbers(term, text)
    from lark import Token, UnexpectedInput

    try:
        tree = _tree("number_term", text)
    except UnexpectedInput as unexpected:
        start = _error_place(unexpected, text)
        hint = "a term has no blanks in it" if text[start : start + 1].isspace() else None
        found.append(error(Code.BAD_TERM, term.part(start, len(text)).span, f"{quoted(text)} is not {what}", hint))
        return None
    excluded, *components = tree.children
    return NumberForm(
        text,
        tuple(_component(term, component) for component in components),
        _span(term, excluded) if isinstance(excluded, Token) else None,
        term.span,
    )


def _plain_numbers(term: Excerpt, text: str) -> NumberForm:
    components: list[Component] = []
    start = 0
    for digits in text.split("_"):
        span = term.part(start, start + len(digits)).span
        components.append(RangeForm(Numeral(digits, span), False, None, None, span))
        start += len(digits) + 1
    return NumberForm(text, tuple(components), None, term.span)


def _plain_names(term: Excerpt, text: str) -> NameForm:
    parts: list[PartForm] = []
    start = 0
    for name in text.split("/"):
        span = term.part(start, start + len(name)).span
        parts.append(PartForm((Piece(PieceKind.CHARACTERS, name, span),), span))
        start += len(name) + 1
    return NameForm(tuple(parts), None, None, term.span)


def _error_place(unexpected: UnexpectedInput, text: str) -> int:
    from lark import UnexpectedToken

    # lark places the end of the input at its last token.
    if isinstance(unexpected, UnexpectedToken) and unexpected.token.type == "$END":
        return len(text)
    return unexpected.pos_in_stream or 0


def _component(term: Excerpt, branch: Tree[Token] | Token) -> Component:
    from lark import Token

    if isinstance(branch, Token):
        span = _span(term, branch)
        if branch.type == "KEYWORD":
            return Keyword(str(branch), span)
        return AllNumbers(span) if branch.type == "ALL_NUMBERS" else SubtreeMark(span)
    first, up_to, last, step = (child if isinstance(child, Token) else None for child in branch.children)
    assert first is not None
    span = _span(term, first)
    for token in (up_to, last, step):
        span = span.to(_span(term, token)) if token is not None else span
    return RangeForm(
        _numeral(term, first),
        up_to is not None,
        _numeral(term, last) if last is not None else None,
        _numeral(term, step, skip=1) if step is not None else None,
        span,
    )


def _numeral(term: Excerpt, token: Token, skip: int = 0) -> Numeral:
    return Numeral(token[skip:], _span(term, token, skip))


def parse_name_term(term: Excerpt, found: list[Diagnostic]) -> NameForm | None:
    """Parse a term that is not empty."""
    if _PLAIN_NAMES.fullmatch(term.text):
        return _plain_names(term, term.text)
    from lark import Token

    excluded, exact, *branches = _tree("name_term", term.text).children
    parts: list[PartForm] = []
    end = max((mark.end_pos or 0 for mark in (excluded, exact) if isinstance(mark, Token)), default=0)
    sound = True
    for branch in branches:
        if isinstance(branch, Token):
            end = branch.end_pos or 0
            continue
        start = end
        pieces: list[Piece] = []
        for token in branch.children:
            assert isinstance(token, Token)
            piece = Piece(PieceKind(token.type), str(token), _span(term, token))
            pieces.append(piece)
            end = token.end_pos or 0
            if piece.kind is PieceKind.UNENDED:
                sound = False
                message = 'the "[" has no "]"' if piece.text == "[" else 'a "\\" stands at the end'
                found.append(error(Code.BAD_TERM, piece.span, f"{message} in {quoted(term.text)}"))
        parts.append(PartForm(tuple(pieces), term.part(start, end).span))
    return (
        NameForm(
            tuple(parts),
            _span(term, excluded) if isinstance(excluded, Token) else None,
            _span(term, exact) if isinstance(exact, Token) else None,
            term.span,
        )
        if sound
        else None
    )


def parse_condition(term: Excerpt) -> ConditionForm | None:
    """Parse a term of when that is not empty; None if it has not the form, of which nothing is said here."""
    from lark import Token, UnexpectedInput

    try:
        word, bound = _tree("condition", term.text).children
    except UnexpectedInput:
        return None
    assert isinstance(word, Token)
    keyword = Keyword(str(word), _span(term, word))
    return ConditionForm(keyword, _numeral(term, bound) if isinstance(bound, Token) else None, term.span)


def _span(term: Excerpt, token: Token, skip: int = 0) -> Span:
    return term.part((token.start_pos or 0) + skip, token.end_pos or 0).span
