"""Rules and terms made by hand, for tests of what comes behind the text of a config; none has a place in a file."""

from __future__ import annotations

from typing import Any

from atbprobe_rules.diagnostics import Span
from atbprobe_rules.selection import (
    MAX_NUMBER,
    AnyDepth,
    Condition,
    ConditionTerm,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    NumberFilter,
    NumberRange,
    Rule,
    Tasks,
)

NOWHERE = Span(0, 0)
EVERYTHING = NumberFilter(unlimited=True)
ANY = NumberRange(0, MAX_NUMBER, 1, NOWHERE)


def plain_rule(number: int = 1, **fields: Any) -> Rule:
    """Make a rule that takes the data of all layers in all rounds, but for `fields`."""
    defaults: dict[str, Any] = {
        "name": None,
        "tasks_in": Tasks.TENSOR,
        "tasks_out": Tasks.TENSOR,
        "rounds": EVERYTHING,
        "devices": EVERYTHING,
        "ids": (),
        "names": (),
        "save_child": False,
        "match_all": False,
        "span": NOWHERE,
    }
    return Rule(number=number, **(defaults | fields))


def condition(*, nan: bool = False, infinity: bool = False, above: float | None = None) -> Condition:
    """Make a condition of one term."""
    return Condition((ConditionTerm(nan, infinity or above is not None, above, NOWHERE),))


def numbers(first: int, last: int, step: int = 1) -> NumberRange:
    return NumberRange(first, last, step, NOWHERE)


def number(value: int) -> NumberRange:
    return numbers(value, value)


def id_term(*components: int | NumberRange, subtree: bool = False, excluded: bool = False) -> IdTerm:
    ranges = tuple(number(c) if isinstance(c, int) else c for c in components)
    return IdTerm(ranges, subtree, excluded, NOWHERE)


def part(*atoms: str | NameAtom) -> NamePart:
    return NamePart(tuple(Literal(a.encode()) if isinstance(a, str) else a for a in atoms), NOWHERE)


def name_term(
    *parts: str | NamePart | AnyDepth, anchored: bool = False, prefix: bool = True, excluded: bool = False
) -> NameTerm:
    return NameTerm(tuple(part(p) if isinstance(p, str) else p for p in parts), anchored, prefix, excluded, NOWHERE)
