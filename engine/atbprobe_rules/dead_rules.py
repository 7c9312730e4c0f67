"""Warnings about rules that can select nothing, or nothing that an earlier rule does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atbprobe_rules.covering import (
    accepts_no_number,
    comparing_cost,
    ids_cover,
    included_terms,
    names_cover,
    rule_covers,
    takes_everything,
)
from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Source, Span, quoted, warning
from atbprobe_rules.fields import DEVICE, EXEC_RANGE, FIELDS, RULES, Place
from atbprobe_rules.read_rules import ReadConfig, RuleText
from atbprobe_rules.selection import MAX_NUMBER, IdTerm, NameTerm, Rule

_MOST_WORK_OF_TWO_RULES = 1 << 13
"""Larger rules are not compared with others: all 64 are compared with each other."""

_MOST_WORK_OF_A_FIELD = 1 << 22


def dead_rules(read: ReadConfig, source: Source) -> Iterator[Diagnostic]:
    """Yield a warning for each rule that could be left out, and for each term that an exclusion takes away."""
    alive: list[tuple[Rule, int]] = []
    is_flat = RULES.name not in read.text
    excluded: dict[int, list[Diagnostic]] = {}
    for rule, text in zip(read.selection.rules, read.rule_texts, strict=True):
        for terms in (rule.ids, rule.names):
            if id(terms) not in excluded:
                excluded[id(terms)] = list(_excluded_terms(terms, source))
                yield from excluded[id(terms)]
        # A whole config for which no round is wanted is one that is switched off.
        is_none = not (rule.rounds.unlimited or rule.rounds.included or rule.rounds.excluded)
        excluded_count = len(excluded[id(rule.ids)]) + len(excluded[id(rule.names)])
        dead = _why_dead(rule, text, excluded_count, "this" if is_flat else f"rule {quoted(rule.label)}")
        if dead is not None:
            if read.selection.dump_enable and not (is_flat and is_none):
                yield dead
            continue
        size = _size(rule)
        compared = (earlier for earlier, its_size in alive if size * its_size <= _MOST_WORK_OF_TWO_RULES)
        cover = next((earlier for earlier in compared if rule_covers(earlier, rule)), None)
        if cover is not None:
            message = f"rule {quoted(rule.label)} adds nothing to rule {quoted(cover.label)}"
            yield warning(Code.SHADOWED_RULE, rule.span, message, None, Related(cover.span, "which takes all of it"))
        alive.append((rule, size))


def unused_keys(read: ReadConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each key beside "rules" that no rule inherits."""
    if RULES.name not in read.text:
        return
    for name, span in read.text.items():
        field = FIELDS[name]
        can_be_inherited = field.inherited and field.place is Place.BOTH
        if can_be_inherited and not any(text.get(name) == span for text in read.rule_texts):
            message = f"every rule has something in place of this {quoted(name)}"
            yield warning(Code.UNUSED_KEY, span, message)


def _size(rule: Rule) -> int:
    ranges = sum(len(numbers.included) + len(numbers.excluded) for numbers in (rule.rounds, rule.devices))
    return ranges + comparing_cost(rule.ids) + comparing_cost(rule.names)


def _why_dead(rule: Rule, text: RuleText, excluded_terms: int, subject: str) -> Diagnostic | None:
    ids, names = included_terms(rule)
    place, why = rule.span, ""
    if accepts_no_number(rule.rounds):
        place, why = text.get(EXEC_RANGE.name, rule.span), "it takes no round"
    elif accepts_no_number(rule.devices) and not rule.devices.unlimited:
        place, why = text.get(DEVICE.name, rule.span), "it takes no device"
    elif (everything := _exclusion_of_everything(rule)) is not None:
        place, why = everything, "every operation is excluded"
    elif (ids or names) and excluded_terms == len(ids) + len(names):
        why = "its exclusions take away every term"
    if not why:
        return None
    is_own = rule.span.offset <= place.offset < rule.span.end
    related = () if is_own else (Related(place, "inherited from here"),)
    message = f"{subject} selects nothing: {why}"
    return warning(Code.DEAD_RULE, place if is_own else rule.span, message, None, *related)


def _exclusion_of_everything(rule: Rule) -> Span | None:
    for term in rule.names:
        if term.excluded and takes_everything(term):
            return term.span
    for id_term in rule.ids:
        first = id_term.components[0]
        if id_term.excluded and len(id_term.components) == 1 and (first.first, first.last) == (0, MAX_NUMBER):
            return id_term.span if first.step == 1 else None
    return None


def _excluded_terms(terms: Sequence[IdTerm] | Sequence[NameTerm], source: Source) -> Iterator[Diagnostic]:
    """Look at the terms of one field; no exclusion is compared with the terms of the other one."""
    exclusions = [term for term in terms if term.excluded]
    included = [term for term in terms if not term.excluded]
    if comparing_cost(exclusions) * comparing_cost(included) > _MOST_WORK_OF_A_FIELD:
        return
    for term in included:
        cover = next((exclusion for exclusion in exclusions if _is_excluded(term, exclusion)), None)
        if cover is not None:
            yield _excluded(term, cover, source)


def _is_excluded(term: IdTerm | NameTerm, exclusion: IdTerm | NameTerm) -> bool:
    if isinstance(term, IdTerm):
        return isinstance(exclusion, IdTerm) and ids_cover(exclusion, term, True, True)
    return isinstance(exclusion, NameTerm) and names_cover(exclusion, term, True, True)


def _excluded(term: IdTerm | NameTerm, cover: IdTerm | NameTerm, source: Source) -> Diagnostic:
    message = f"{quoted(source.slice(term.span))} is excluded by {quoted(source.slice(cover.span))}"
    return warning(Code.EXCLUDED_TERM, term.span, message, None, Related(cover.span, "this wins, in any order"))
