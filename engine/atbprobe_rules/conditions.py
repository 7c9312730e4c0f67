"""What `when` asks of the outputs of an operation: its conditions, read term by term."""

from __future__ import annotations

import math
import re

from atbprobe_rules.diagnostics import Code, Diagnostic, error, quoted
from atbprobe_rules.fields import nearest_word
from atbprobe_rules.number_terms import refuse_empty
from atbprobe_rules.parse_terms import parse_condition, split_numbers
from atbprobe_rules.selection import Condition, ConditionTerm
from atbprobe_rules.syntax_tree import ConditionForm, Excerpt, Numeral, String

WORDS = {"nan": (True, False), "inf": (False, True), "nonfinite": (True, True)}
"""Of each word whether it takes a NaN, and whether an infinity."""

MAGNITUDE = "abs"

OTHER_WORDS = {
    "isnan": "nan",
    "notanumber": "nan",
    "infinity": "inf",
    "infinite": "inf",
    "isinf": "inf",
    "notfinite": "nonfinite",
    "nonfinite": "nonfinite",
}
"""What the conditions are called elsewhere; only letters are compared, in lower case."""

_ALL = f"conditions are {', '.join(WORDS)}, {MAGNITUDE} > 1e4"
_BOUND = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LETTERS = re.compile(r"[a-z]+")
_LONGEST_BOUND = 400
"""In characters: the largest double written out has 309, and reading much more of them would take long."""


def read_condition(value: String, found: list[Diagnostic]) -> Condition | None:
    """Read `when`: conditions joined by `|`; None if any of them is refused."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        found.append(error(Code.EMPTY_VALUE, value.span, '"when" is empty', f"{_ALL}; for none leave the key out"))
        return None
    terms = [_read_term(term, found) for term in split_numbers(field, "|")]
    read = tuple(term for term in terms if term is not None)
    return Condition(read) if len(read) == len(terms) else None


def _read_term(term: Excerpt, found: list[Diagnostic]) -> ConditionTerm | None:
    if not term.text:
        refuse_empty(term, found, "|")
        return None
    form = parse_condition(term)
    word = form.word.text.lower() if form is not None else ""
    if form is not None and form.bound is not None and word == MAGNITUDE:
        above = _read_bound(form.bound, found)
        return None if above is None else ConditionTerm(nan=False, infinity=True, above=above, span=term.span)
    if form is not None and form.bound is None and word in WORDS:
        nan, infinity = WORDS[word]
        return ConditionTerm(nan, infinity, above=None, span=term.span)
    message = f"{quoted(term.text)} is not a condition"
    found.append(error(Code.BAD_CONDITION, term.span, message, _hint(term.text, form)))
    return None


def _hint(text: str, form: ConditionForm | None) -> str:
    word = form.word.text.lower() if form is not None else ""
    if word == MAGNITUDE:
        return f"write a bound, as in {MAGNITUDE} > 1e4"
    if word in WORDS:
        return f"{word} has no bound"
    if form is not None and form.bound is not None:
        return f"did you mean {quoted(f'{MAGNITUDE} > {form.bound.text}')}?"
    if "," in text:
        return 'conditions are joined by "|"'
    near = OTHER_WORDS.get("".join(_LETTERS.findall(text.lower()))) or nearest_word(text, WORDS)
    return f"did you mean {quoted(near)}?" if near else _ALL


def _read_bound(numeral: Numeral, found: list[Diagnostic]) -> float | None:
    """Read a decimal number that a double can hold; what is smaller than its smallest counts as 0."""
    text = numeral.text
    hint = None
    if text[0] in "+-":
        message = f"{quoted(text)} has a sign, and numbers here have none"
        hint = f"{MAGNITUDE} is the magnitude, of -5 as of 5"
    elif text[0] == "0" and text[1:2].isdecimal():
        message = f"{quoted(text)} begins with a zero"
    elif not _BOUND.fullmatch(text):
        message = f"{quoted(text)} is not a number"
        hint = "write digits before and after the point"
    elif len(text) > _LONGEST_BOUND:
        message = f"{quoted(text)} has more than {_LONGEST_BOUND} characters"
    elif not math.isfinite(float(text)):
        message = f"{quoted(text)} is more than a number of 64 bits can hold"
    else:
        return float(text)
    found.append(error(Code.BAD_NUMBER, numeral.span, message, hint))
    return None
