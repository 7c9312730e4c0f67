"""What exec_range, device and ids select: number filters and id paths, read term by term.

Nothing is ever repaired: a term that is refused selects nothing, and with it the config is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from atbprobe_rules.diagnostics import Code, Diagnostic, Span, error, quoted
from atbprobe_rules.fields import nearest_word
from atbprobe_rules.parse_terms import parse_number_term, split_numbers
from atbprobe_rules.selection import MAX_NUMBER, IdTerm, NumberFilter, NumberRange
from atbprobe_rules.syntax_tree import (
    AllNumbers,
    Excerpt,
    Keyword,
    NumberForm,
    Numeral,
    RangeForm,
    String,
    SubtreeMark,
)

NOTHING = NumberFilter(unlimited=False)
EVERYTHING = NumberFilter(unlimited=True)

_DIGITS = len(str(MAX_NUMBER))
_NUMBER = re.compile(rf"0|[1-9][0-9]{{0,{_DIGITS - 1}}}")
_ROUND = "a round"
_DEVICE = "a device number"

MAX_MARKS = 65_536
"""Most separators and wildcards in one field: far beyond any model's ops, and still read within seconds."""

_MARKS = ",|_/*?[\\"


def is_too_large(value: String) -> bool:
    """Tell whether a field has more terms and parts of terms than are taken."""
    return sum(map(value.text.count, _MARKS)) > MAX_MARKS


# ---- rounds ----


def read_rounds(value: String, found: list[Diagnostic]) -> NumberFilter:
    """Read exec_range: `all`, `none`, pairs of first and last round, or ranges joined by `|`."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        hint = 'write "all", "none" or rounds such as "0,2"'
        found.append(error(Code.EMPTY_VALUE, value.span, '"exec_range" is empty', hint))
        return NOTHING
    if "|" not in field.text and "," in field.text:
        return _read_round_pairs(field, list(split_numbers(field, ",")), found)
    terms = list(split_numbers(field, "|"))
    if len(terms) == 1:
        form = parse_number_term(field, _ROUND, found)
        if form is None:
            return NOTHING
        keyword = _lone_keyword(form)
        if keyword in ("all", "none"):
            return EVERYTHING if keyword == "all" else NOTHING
        return _filter_of([_read_term(form, _ROUND, found)])
    return _filter_of(_read_alternative(term, found) for term in terms)


def _read_alternative(term: Excerpt, found: list[Diagnostic]) -> _Term | None:
    """Read one of several terms joined by `|`."""
    if "," in term.text:
        message = 'pairs with "," and ranges with "|" cannot stand together'
        found.append(error(Code.BAD_TERM, term.span, message, _pair_as_range(term.text)))
        return None
    form = _parse_there(term, _ROUND, found, "|")
    if form is None:
        return None
    keyword = _lone_keyword(form)
    if keyword in ("all", "none"):
        hint = 'to leave rounds out, write only the "!" terms' if keyword == "all" else None
        message = f"{quoted(term.text)} cannot stand beside other rounds"
        found.append(error(Code.BAD_TERM, term.span, message, hint))
        return None
    return _read_term(form, _ROUND, found)


def _pair_as_range(text: str) -> str | None:
    bounds = [bound.strip() for bound in text.split(",")]
    is_pair = len(bounds) == 2 and all(map(_NUMBER.fullmatch, bounds)) and int(bounds[0]) <= int(bounds[1])
    return f'write "{bounds[0]}-{bounds[1]}"' if is_pair else None


def _read_round_pairs(field: Excerpt, terms: list[Excerpt], found: list[Diagnostic]) -> NumberFilter:
    bounds = [_read_bound(term, found) for term in terms]
    if len(terms) % 2:
        message = f"rounds come in pairs of first and last, and here are {len(terms)}"
        last = terms[-1].text
        hint = None if bounds[-1] is None else f"for round {last} alone, end in {last},{last}"
        found.append(error(Code.ODD_ROUNDS, field.span, message, hint))
    ranges: list[NumberRange] = []
    for i in range(0, len(terms) - 1, 2):
        first, last_round = bounds[i], bounds[i + 1]
        span = terms[i].span.to(terms[i + 1].span)
        if first is not None and last_round is not None and _in_order(first, last_round, span, found):
            ranges.append(NumberRange(first, last_round, 1, span))
    return NumberFilter(unlimited=False, included=tuple(ranges))


def _read_bound(term: Excerpt, found: list[Diagnostic]) -> int | None:
    """Read the first or the last round of a pair."""
    form = _parse_there(term, _ROUND, found)
    if form is None:
        return None
    component = form.components[0]
    if isinstance(component, RangeForm) and component.plain and len(form.components) == 1 and not form.excluded:
        return _number(component.first, found)
    message = f"{quoted(term.text)} cannot stand in a list of rounds"
    hint = None
    if _lone_keyword(form) in ("all", "none"):
        hint = "it stands alone"
    elif form.excluded or isinstance(component, RangeForm):
        hint = 'join ranges by "|"'
    found.append(error(Code.BAD_TERM, term.span, message, hint))
    return None


# ---- devices ----


def read_devices(value: String, found: list[Diagnostic]) -> NumberFilter:
    """Read device: numbers and ranges joined by commas; empty is all devices, the unknown one too."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return EVERYTHING
    return _filter_of(_read_device(term, found) for term in split_numbers(field, ","))


def _read_device(term: Excerpt, found: list[Diagnostic]) -> _Term | None:
    form = _parse_there(term, _DEVICE, found)
    if form is None:
        return None
    return _read_term(form, _DEVICE, found)


# ---- id paths ----


def read_ids(value: String, found: list[Diagnostic]) -> tuple[IdTerm, ...]:
    """Read ids: id paths joined by commas."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return ()
    terms: list[IdTerm] = []
    for term in split_numbers(field, ","):
        form = _parse_there(term, "an id path such as 2_1", found)
        id_term = _read_id_path(form, found) if form is not None else None
        if id_term is not None:
            terms.append(id_term)
    return tuple(terms)


def _read_id_path(form: NumberForm, found: list[Diagnostic]) -> IdTerm | None:
    before = len(found)
    ranges: list[NumberRange] = []
    subtree = False
    for i, component in enumerate(form.components):
        if isinstance(component, RangeForm):
            numbers = _read_range(component, found)
            if numbers is not None:
                ranges.append(numbers)
            if component.step is not None and component.up_to and component.last is None:
                hint = "end the range, as in 0-100/10"
                found.append(error(Code.BAD_TERM, component.span, "an open range of ids takes no step", hint))
        elif isinstance(component, AllNumbers):
            ranges.append(NumberRange(0, MAX_NUMBER, 1, component.span))
        elif isinstance(component, Keyword):
            message = f"{quoted(component.text)} is not a number"
            found.append(error(Code.BAD_TERM, component.span, message, 'names go into "op_name"'))
        elif isinstance(component, SubtreeMark) and 0 < i == len(form.components) - 1:
            subtree = True
        else:
            found.append(error(Code.BAD_TERM, component.span, '"**" can only stand at the end of an id path'))
    if len(found) != before:
        return None
    return IdTerm(tuple(ranges), subtree, excluded=form.excluded is not None, span=form.span)


# ---- terms of one number or range ----

_Term = tuple[NumberRange, bool]
"""A range, and whether it is excluded."""


def _filter_of(terms: Iterable[_Term | None]) -> NumberFilter:
    """Join the terms. Those that were refused are left out: what is left is not used then."""
    read = [term for term in terms if term is not None]
    included = tuple(numbers for numbers, excluded in read if not excluded)
    excluded = tuple(numbers for numbers, excluded in read if excluded)
    return NumberFilter(unlimited=bool(excluded) and not included, included=included, excluded=excluded)


def _parse_there(term: Excerpt, what: str, found: list[Diagnostic], separator: str = ",") -> NumberForm | None:
    """Parse a term that must not be empty."""
    if not term.text:
        refuse_empty(term, found, separator)
        return None
    return parse_number_term(term, what, found)


def _read_term(form: NumberForm, what: str, found: list[Diagnostic]) -> _Term | None:
    component = form.components[0]
    if not isinstance(component, RangeForm) or len(form.components) > 1:
        hint = None
        if what == _DEVICE and (_lone_keyword(form) == "all" or isinstance(component, AllNumbers)):
            hint = 'for all devices, leave "device" empty'
        elif what == _ROUND and isinstance(component, AllNumbers):
            hint = 'for all rounds, write "all"'
        elif what == _ROUND and (near := nearest_word(_lone_keyword(form) or "", ("all", "none"))):
            hint = f"did you mean {quoted(near)}?"
        found.append(error(Code.BAD_TERM, form.span, f"{quoted(form.text)} is not {what}", hint))
        return None
    if what == _DEVICE and component.up_to and component.last is None:
        message = "a range of devices needs its last one"
        found.append(error(Code.BAD_TERM, component.span, message, "end the range, as in 0-7"))
        return None
    numbers = _read_range(component, found)
    return None if numbers is None else (numbers, form.excluded is not None)


def _read_range(form: RangeForm, found: list[Diagnostic]) -> NumberRange | None:
    first = _number(form.first, found)
    last = _number(form.last, found) if form.last is not None else None
    step = _number(form.step, found) if form.step is not None else None
    if first is None or (form.last is not None and last is None) or (form.step is not None and step is None):
        return None
    if last is not None and not _in_order(first, last, form.span, found):
        return None
    if form.step is not None and (step == 0 or not form.up_to):
        message = "a step is at least 1" if step == 0 else "a step needs a range before it"
        found.append(error(Code.BAD_TERM, form.step.span, message))
        return None
    if last is None:
        last = MAX_NUMBER if form.up_to else first
    return NumberRange(first, last, step or 1, form.span)


def _number(numeral: Numeral, found: list[Diagnostic]) -> int | None:
    text = numeral.text
    if text[0] in "+-":
        message = f"{quoted(text)} has a sign, and numbers here have none"
    elif text[0] == "0" and len(text) > 1:
        message = f"{quoted(text)} begins with a zero"
    elif len(text) > _DIGITS or int(text) > MAX_NUMBER:
        message = f"{quoted(text)} is more than 64 bits can hold"
    else:
        return int(text)
    found.append(error(Code.BAD_NUMBER, numeral.span, message))
    return None


def _in_order(first: int, last: int, span: Span, found: list[Diagnostic]) -> bool:
    if first <= last:
        return True
    message = f"the range runs from {first} down to {last}"
    found.append(error(Code.REVERSED_RANGE, span, message, f"did you mean {last} to {first}?"))
    return False


def _lone_keyword(form: NumberForm) -> str | None:
    component = form.components[0]
    if isinstance(component, Keyword) and len(form.components) == 1 and form.excluded is None:
        return component.text.lower()
    return None


def refuse_empty(term: Excerpt, found: list[Diagnostic], separator: str = ",") -> None:
    """Say that a term is missing."""
    hint = f"remove the {quoted(separator)}, or write a term"
    found.append(error(Code.EMPTY_TERM, term.span, "a term is missing here", hint))
