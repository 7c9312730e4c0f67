"""How the published probe reads the terms of a string field: what each comes to, and a note where that is not what
it means here.

It splits at every comma and trims nothing. Rounds are pairs of C integers, as `std::stoi` makes them of the beginning
of a term, 0 where it cannot; ids and devices are compared as text; names are beginnings, taken character by
character. So nothing is ever refused, and a term of the newer language mostly matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from atbprobe_rules.diagnostics import Code, Diagnostic, note, quoted
from atbprobe_rules.fields import EXEC_RANGE
from atbprobe_rules.selection import MAX_NUMBER
from atbprobe_rules.syntax_tree import Excerpt, String

_ID_PATH = re.compile(r"(?:0|[1-9][0-9]*)(?:_(?:0|[1-9][0-9]*))*")
_WRITTEN_NAME = re.compile(r"[A-Za-z0-9._-]+")
"""Names that the published probe can write; for an operation with any other it creates no file."""

_PATTERN = re.compile(r"[*?\[\]\\/=!]")
"""What is more than a name in this language."""

_C_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_C_INT_MAX = 2**31 - 1
_UNKNOWN_DEVICE = "-1"


@dataclass(frozen=True)
class FieldReading:
    """What a field comes to, spelt as this language spells it.

    `nothing`: it is there and matches nothing; `inexpressible`: not all that it matches has a spelling here.
    """

    text: str
    nothing: bool = False
    inexpressible: bool = False


def read_rounds(value: String, notes: list[Diagnostic]) -> FieldReading:
    """Read exec_range."""
    text = value.text
    if text == "":
        message = f"the published probe takes {quoted(str(EXEC_RANGE.default))} for an empty value"
        notes.append(note(Code.COMPAT_DEFAULT, value.span, message))
        return FieldReading(str(EXEC_RANGE.default))
    if text in ("all", "none"):
        return FieldReading(text)
    terms = _split(value, notes)
    if len(terms) > 1 and not terms[-1].text:
        _note_empty(terms.pop(), notes)
    if len(terms) == 1:
        lone = terms[0].stripped().text
        if lone.lower() != "none":
            message = f"the published probe selects no round: {quoted(text)} is no pair of rounds"
            notes.append(note(Code.COMPAT_NOTHING, value.span, message, _round_hint(lone)))
        return FieldReading("none", nothing=True)
    if len(terms) % 2:
        left_out = terms.pop()
        message = f"the published probe leaves out {quoted(left_out.text)}, which is half of a pair"
        notes.append(note(Code.COMPAT_IGNORED, left_out.span, message))
    return _read_pairs(terms, notes)


def _round_hint(lone: str) -> str | None:
    if lone.lower() == "all":
        return 'write "all"'
    return f'write "{lone},{lone}"' if _live_device(lone) is not None else None


def _read_pairs(terms: list[Excerpt], notes: list[Diagnostic]) -> FieldReading:
    bounds = [_read_round(term, notes) for term in terms]
    pairs: list[tuple[int, int]] = []
    for i in range(0, len(bounds), 2):
        first, last = bounds[i], bounds[i + 1]
        if first <= last:
            pairs.append((first, last))
            continue
        message = f"the published probe selects no round here: {first} to {last} runs down"
        notes.append(note(Code.COMPAT_NOTHING, terms[i].span.to(terms[i + 1].span), message))
    if (0, MAX_NUMBER) in pairs:
        return FieldReading("all")
    if not pairs:
        return FieldReading("none", nothing=True)
    return FieldReading(",".join(f"{first},{last}" for first, last in pairs))


def _read_round(term: Excerpt, notes: list[Diagnostic]) -> int:
    """Return the number of a term as the 64 bits without sign that it is compared as."""
    text = term.text
    match = _C_INTEGER.match(text)
    number = int(match[1]) if match is not None and len(match[1].lstrip("+-0")) <= len(str(_C_INT_MAX)) else None
    shown = quoted(text)
    if match is None:
        message = f"the published probe takes 0 for {shown}, which begins with no number"
    elif number is None or not -_C_INT_MAX - 1 <= number <= _C_INT_MAX:
        number = None
        message = f"the published probe takes 0 for {shown}: its rounds end at {_C_INT_MAX}"
    else:
        message = f"the published probe reads {shown} as {number % (MAX_NUMBER + 1)}"
    if number is None or str(number) != term.stripped().text or number < 0:
        notes.append(note(Code.COMPAT_OTHER_VALUE, term.span, message))
    return 0 if number is None else number % (MAX_NUMBER + 1)


def read_ids(value: String, notes: list[Diagnostic]) -> FieldReading:
    """Read ids."""

    def explain(term: Excerpt) -> str:
        return f"the published probe compares {quoted(term.text)} as text with the id path of each operation"

    return _read_terms(value, _live_id_path, explain, notes)


def read_devices(value: String, notes: list[Diagnostic]) -> FieldReading:
    """Read device. The unknown device, which the published probe calls -1, has no spelling here."""

    def explain(term: Excerpt) -> str:
        if term.text == _UNKNOWN_DEVICE:
            return "the published probe calls a device -1 that it does not know, and takes it here"
        return f"the published probe compares {quoted(term.text)} as text with the number of each device"

    return _read_terms(value, _live_device, explain, notes, unspelt=_UNKNOWN_DEVICE)


def read_names(value: String, notes: list[Diagnostic], *, save_child: bool) -> FieldReading:
    """Read op_name."""

    def live(text: str) -> str | None:
        *above, last = text.split("/")
        if (above and not save_child) or not all(map(_WRITTEN_NAME.fullmatch, above)):
            return None
        if last == "" and above:
            return f"{text}*"
        return text if _WRITTEN_NAME.fullmatch(last) else None

    def explain(term: Excerpt) -> str:
        shown = quoted(term.text)
        if term.text.endswith("/") and live(term.text) is not None:
            return f"the published probe takes {shown} for all operations below one of that name"
        if "/" in term.text and not save_child:
            return f'without "save_child" the published probe compares {shown} with single names, which hold no "/"'
        if _PATTERN.search(term.text) or not term.stripped().text:
            return f"the published probe looks for {shown} at the beginning of a name, character by character"
        return f"the published probe has no file for a name that begins with {shown}"

    return _read_terms(value, live, explain, notes)


def _read_terms(
    value: String,
    live: Callable[[str], str | None],
    explain: Callable[[Excerpt], str],
    notes: list[Diagnostic],
    unspelt: str | None = None,
) -> FieldReading:
    """Read terms that are texts.

    `live` spells a term as this language does; None: it matches nothing. `unspelt` is one that matches something for
    which this language has no spelling.
    """
    if value.text == "":
        return FieldReading("")
    kept: list[str] = []
    inexpressible = False
    for term in _split(value, notes):
        if term.text == "":
            _note_empty(term, notes)
            continue
        spelt = live(term.text)
        if spelt is not None:
            kept.append(spelt)
            if spelt != term.text:
                notes.append(note(Code.COMPAT_OTHER_VALUE, term.span, explain(term)))
        elif term.text == unspelt:
            notes.append(note(Code.COMPAT_OTHER_VALUE, term.span, explain(term)))
            inexpressible = True
        else:
            notes.append(_matches_nothing(term, live, explain))
    return FieldReading(",".join(kept), not kept, inexpressible)


def _matches_nothing(term: Excerpt, live: Callable[[str], str | None], explain: Callable[[Excerpt], str]) -> Diagnostic:
    stripped = term.stripped().text
    if stripped != term.text and live(stripped) is not None:
        message = f"the published probe reads {quoted(stripped)} here as {quoted(term.text)}, which matches nothing"
        return note(Code.COMPAT_NOTHING, term.span, message, "write it without blanks")
    if stripped.startswith("!"):
        message = f"the published probe has no exclusions: {quoted(term.text)} matches nothing and leaves nothing out"
        return note(Code.COMPAT_NOTHING, term.span, message)
    return note(Code.COMPAT_NOTHING, term.span, f"{explain(term)}, so it selects nothing")


def _note_empty(term: Excerpt, notes: list[Diagnostic]) -> None:
    notes.append(note(Code.COMPAT_IGNORED, term.span, "the published probe passes over the empty term"))


def _live_id_path(text: str) -> str | None:
    if not _ID_PATH.fullmatch(text) or any(map(_too_large, text.split("_"))):
        return None
    return text


def _live_device(text: str) -> str | None:
    return _live_id_path(text) if "_" not in text else None


def _too_large(digits: str) -> bool:
    return len(digits) > len(str(MAX_NUMBER)) or int(digits) > MAX_NUMBER


def _split(value: String, notes: list[Diagnostic]) -> list[Excerpt]:
    """Return the terms of what a C string holds of the value."""
    field = Excerpt.whole(value)
    kept = field.text.partition("\0")[0]
    if kept != field.text:
        rest = field.part(len(kept), len(field.text))
        notes.append(note(Code.COMPAT_IGNORED, rest.span, "the published probe stops at the NUL character"))
    terms: list[Excerpt] = []
    start = 0
    for text in kept.split(","):
        terms.append(field.part(start, start + len(text)))
        start += len(text) + 1
    return terms
