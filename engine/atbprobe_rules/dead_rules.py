"""Warnings about rules that can select nothing, or nothing that an earlier rule does not."""

from __future__ import annotations

from collections.abc import Iterator

from atbprobe_rules.covering import (
    accepts_no_number,
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

_MOST_TERMS_COMPARED = 16
"""Rules with more terms are not compared with others: the time would grow with the square of their number."""

_MOST_EXCLUSIONS = 64
_MOST_INCLUSIONS = 2048


def dead_rules(read: ReadConfig, source: Source) -> Iterator[Diagnostic]:
    """Yield a warning for each rule that could be left out, and for each term that an exclusion takes away."""
    alive: list[Rule] = []
    is_flat = RULES.name not in read.text
    for rule, text in zip(read.selection.rules, read.rule_texts, strict=True):
        excluded = list(_excluded_terms(rule, source))
        yield from excluded
        # A whole config for which no round is wanted is one that is switched off.
        is_none = not (rule.rounds.unlimited or rule.rounds.included or rule.rounds.excluded)
        dead = _why_dead(rule, text, len(excluded), "this" if is_flat else f"rule {quoted(rule.label)}")
        if dead is not None:
            if read.selection.dump_enable and not (is_flat and is_none):
                yield dead
            continue
        cover = next((earlier for earlier in alive if _compared(earlier, rule) and rule_covers(earlier, rule)), None)
        if cover is not None:
            message = f"rule {quoted(rule.label)} adds nothing to rule {quoted(cover.label)}"
            yield warning(Code.SHADOWED_RULE, rule.span, message, None, Related(cover.span, "which takes all of it"))
        alive.append(rule)


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


def _compared(cover: Rule, rule: Rule) -> bool:
    return len(cover.ids) + len(cover.names) + len(rule.ids) + len(rule.names) <= _MOST_TERMS_COMPARED


def _why_dead(rule: Rule, text: RuleText, excluded_terms: int, subject: str) -> Diagnostic | None:
    ids, names = included_terms(rule)
    place, why = rule.span, ""
    if accepts_no_number(rule.rounds):
        place, why = text.get(EXEC_RANGE.name, rule.span), "it takes no round"
    elif accepts_no_number(rule.devices) and not rule.devices.unlimited:
        place, why = text.get(DEVICE.name, rule.span), "it takes no device"
    elif _exclusion_of_everything(rule) is not None:
        place, why = _exclusion_of_everything(rule) or rule.span, "every operation is excluded"
    elif (ids or names) and excluded_terms == len(ids) + len(names):
        why = "its exclusions take away every term"
    return warning(Code.DEAD_RULE, place, f"{subject} selects nothing: {why}") if why else None


def _exclusion_of_everything(rule: Rule) -> Span | None:
    for term in rule.names:
        if term.excluded and takes_everything(term):
            return term.span
    for id_term in rule.ids:
        first = id_term.components[0]
        if id_term.excluded and len(id_term.components) == 1 and (first.first, first.last) == (0, MAX_NUMBER):
            return id_term.span if first.step == 1 else None
    return None


def _excluded_terms(rule: Rule, source: Source) -> Iterator[Diagnostic]:
    ids, names = included_terms(rule)
    id_exclusions = [term for term in rule.ids if term.excluded]
    name_exclusions = [term for term in rule.names if term.excluded]
    if len(id_exclusions) + len(name_exclusions) <= _MOST_EXCLUSIONS and len(ids) + len(names) <= _MOST_INCLUSIONS:
        for id_term in ids:
            for id_cover in id_exclusions:
                if ids_cover(id_cover, id_term, True, True):
                    yield _excluded(id_term, id_cover, source)
                    break
        for name_term in names:
            for name_cover in name_exclusions:
                if names_cover(name_cover, name_term, True, True):
                    yield _excluded(name_term, name_cover, source)
                    break


def _excluded(term: IdTerm | NameTerm, cover: IdTerm | NameTerm, source: Source) -> Diagnostic:
    message = f"{quoted(source.slice(term.span))} is excluded by {quoted(source.slice(cover.span))}"
    return warning(Code.EXCLUDED_TERM, term.span, message, None, Related(cover.span, "this wins, in any order"))
