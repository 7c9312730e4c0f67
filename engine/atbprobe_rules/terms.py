"""What the terms of the string fields select: number filters, id paths and names.

A term is validated as the whole language has it, so that its mistakes get their own diagnostics; then the
forms that this version does not evaluate are refused. Nothing is ever repaired: a term that is refused
selects nothing, and with it the config is refused.
"""

from __future__ import annotations

from atbprobe_rules.diagnostics import Code, Diagnostic, Span, error, quoted
from atbprobe_rules.fields import DEVICE, EXEC_RANGE, IDS, Field
from atbprobe_rules.parse_terms import parse_name_term, parse_number_term, split_names, split_numbers
from atbprobe_rules.selection import (
    MAX_NUMBER,
    IdTerm,
    Literal,
    NamePart,
    NameTerm,
    NumberFilter,
    NumberRange,
)
from atbprobe_rules.syntax_tree import (
    AllNumbers,
    Excerpt,
    Keyword,
    NameForm,
    NumberForm,
    Numeral,
    PieceKind,
    RangeForm,
    String,
)

NOTHING = NumberFilter(unlimited=False)
EVERYTHING = NumberFilter(unlimited=True)

_DIGITS = len(str(MAX_NUMBER))

MAX_MARKS = 65_536
"""Most separators and wildcards in one field: far beyond any model's ops, and still read within seconds."""

_MARKS = ",|_/*?[\\"


def is_too_large(value: String) -> bool:
    """Tell whether a field has more terms and parts of terms than are taken."""
    return sum(map(value.text.count, _MARKS)) > MAX_MARKS


def read_rounds(value: String, found: list[Diagnostic]) -> NumberFilter:
    """Read exec_range: `all`, `none`, one round, or pairs of first and last round."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        hint = 'write "all", "none" or rounds such as "0,2"'
        found.append(error(Code.EMPTY_VALUE, value.span, '"exec_range" is empty', hint))
        return NOTHING
    if "|" in field.text:
        return _read_alternatives(field, found)
    terms = list(split_numbers(field, ","))
    if len(terms) > 1:
        return _read_round_pairs(field, terms, found)
    form = parse_number_term(field, "a round", found)
    if form is None:
        return NOTHING
    keyword = _lone_keyword(form)
    if keyword in ("all", "none"):
        return EVERYTHING if keyword == "all" else NOTHING
    return _included(_read_single(form, EXEC_RANGE, "a round", found))


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
    form = _parse_there(term, "a round", found)
    if form is None:
        return None
    component = form.components[0]
    if isinstance(component, RangeForm) and component.plain and len(form.components) == 1 and not form.excluded:
        return _number(component.first, found)
    message = f"{quoted(term.text)} cannot stand in a list of rounds"
    hint = "it stands alone" if _lone_keyword(form) in ("all", "none") else None
    found.append(error(Code.BAD_TERM, term.span, message, hint))
    return None


def _read_alternatives(field: Excerpt, found: list[Diagnostic]) -> NumberFilter:
    """Validate ranges joined by `|`, all of which this version refuses."""
    problems: list[Diagnostic] = []
    for term in split_numbers(field, "|"):
        if "," in term.text:
            message = 'pairs with "," and ranges with "|" cannot stand together'
            problems.append(error(Code.BAD_TERM, term.span, message))
            continue
        form = _parse_there(term, "a round", problems)
        if form is not None:
            _read_single(form, EXEC_RANGE, "a round", problems)
    mistakes = [problem for problem in problems if problem.code is not Code.NOT_IN_THIS_VERSION]
    if mistakes:
        found += mistakes
    else:
        _refuse_form(field.span, 'ranges joined by "|" are', found)
    return NOTHING


def read_devices(value: String, found: list[Diagnostic]) -> NumberFilter:
    """Read device: numbers joined by commas; empty is all devices, the unknown one too."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return EVERYTHING
    ranges: list[NumberRange] = []
    for term in split_numbers(field, ","):
        form = _parse_there(term, "a device number", found)
        numbers = _read_single(form, DEVICE, "a device number", found) if form is not None else None
        if numbers is not None:
            ranges.append(numbers)
    return NumberFilter(unlimited=False, included=tuple(ranges))


def read_ids(value: String, found: list[Diagnostic]) -> tuple[IdTerm, ...]:
    """Read ids: id paths joined by commas."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return ()
    terms: list[IdTerm] = []
    for term in split_numbers(field, ","):
        form = _parse_there(term, "an id path such as 2_1", found)
        components = _read_id_path(form, found) if form is not None else None
        if components is not None:
            terms.append(IdTerm(components, subtree=False, excluded=False, span=term.span))
    return tuple(terms)


def _read_id_path(form: NumberForm, found: list[Diagnostic]) -> tuple[NumberRange, ...] | None:
    before = len(found)
    if form.excluded is not None:
        _refuse_form(form.excluded, 'exclusions with "!" are', found)
    ranges: list[NumberRange] = []
    for i, component in enumerate(form.components):
        if isinstance(component, RangeForm):
            numbers = _read_range(component, IDS, found)
            if numbers is not None:
                ranges.append(numbers)
        elif isinstance(component, AllNumbers):
            _refuse_form(component.span, '"*" in "ids" is', found)
        elif isinstance(component, Keyword):
            message = f"{quoted(component.text)} is not a number"
            found.append(error(Code.BAD_TERM, component.span, message, 'names go into "op_name"'))
        elif 0 < i == len(form.components) - 1:
            _refuse_form(component.span, '"_**" is', found)
        else:
            found.append(error(Code.BAD_TERM, component.span, '"**" can only stand at the end of an id path'))
    return tuple(ranges) if len(found) == before else None


def read_names(value: String, found: list[Diagnostic]) -> tuple[NameTerm, ...]:
    """Read op_name: prefixes of names, or paths whose last part is one, joined by commas."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return ()
    terms: list[NameTerm] = []
    for term in split_names(field):
        if not term.text:
            _refuse_empty(term, found)
            continue
        form = parse_name_term(term, found)
        parts = _read_name_parts(form, found) if form is not None else None
        if parts is not None:
            terms.append(NameTerm(parts, anchored=False, prefix=True, excluded=False, span=term.span))
    return tuple(terms)


def _read_name_parts(form: NameForm, found: list[Diagnostic]) -> tuple[NamePart, ...] | None:
    before = len(found)
    parts = form.parts
    if form.excluded is not None:
        _refuse_form(form.excluded, 'exclusions with "!" are', found)
    if form.exact is not None:
        _refuse_form(form.exact, 'exact names with "=" are', found)
    if len(parts) > 1 and not parts[0].pieces:
        _refuse_form(parts[0].span, 'paths that begin with "/" are', found)
        parts = parts[1:]
    read: list[NamePart] = []
    for part in parts:
        if not part.pieces:
            message = "a part of the path is empty" if len(parts) > 1 else "a name is missing"
            found.append(error(Code.EMPTY_TERM, part.span, message))
            continue
        pattern = next((piece for piece in part.pieces if piece.kind is not PieceKind.CHARACTERS), None)
        if pattern is not None:
            _refuse_form(pattern.span, f'patterns such as {quoted(pattern.text)} in "op_name" are', found)
        read.append(NamePart((Literal(part.pieces[0].text.encode().lower()),), part.span))
    return tuple(read) if len(found) == before else None


def _parse_there(term: Excerpt, what: str, found: list[Diagnostic]) -> NumberForm | None:
    """Parse a term that must not be empty."""
    if not term.text:
        _refuse_empty(term, found)
        return None
    return parse_number_term(term, what, found)


def _read_single(form: NumberForm, field: Field, what: str, found: list[Diagnostic]) -> NumberRange | None:
    """Read a term that is one number, or in the whole language one range of numbers."""
    if form.excluded is not None:
        _refuse_form(form.excluded, 'exclusions with "!" are', found)
    component = form.components[0]
    if isinstance(component, RangeForm) and len(form.components) == 1:
        return _read_range(component, field, found)
    all_devices = field is DEVICE and _lone_keyword(form) == "all"
    hint = 'for all devices, leave "device" empty' if all_devices else None
    found.append(error(Code.BAD_TERM, form.span, f"{quoted(form.text)} is not {what}", hint))
    return None


def _read_range(form: RangeForm, field: Field, found: list[Diagnostic]) -> NumberRange | None:
    """Validate a range as the whole language has it; this version takes only single numbers."""
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
    if form.plain:
        return NumberRange(first, first, 1, form.span)
    pair = field is EXEC_RANGE and last is not None and step is None
    hint = f'write "{first},{last}"' if pair else None
    _refuse_form(form.span, "ranges of numbers are", found, hint)
    return None


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


def _included(numbers: NumberRange | None) -> NumberFilter:
    return NOTHING if numbers is None else NumberFilter(unlimited=False, included=(numbers,))


def _refuse_empty(term: Excerpt, found: list[Diagnostic]) -> None:
    found.append(error(Code.EMPTY_TERM, term.span, "a term is missing here", "remove the comma, or write a term"))


def _refuse_form(span: Span, what: str, found: list[Diagnostic], hint: str | None = None) -> None:
    message = f"{what} not in this version of the rules language"
    found.append(error(Code.NOT_IN_THIS_VERSION, span, message, hint))
