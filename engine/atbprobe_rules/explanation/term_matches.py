"""Which terms of which rules take which ops of a catalogue: each term compiled as a rule of its own.

So a term is decided by the same tables as the whole config, for all ops at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from atbprobe_rules.catalogue.ops import Catalogue
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.diagnostics import Span
from atbprobe_rules.evaluate import Masks
from atbprobe_rules.explanation.op_selection import taking_rules
from atbprobe_rules.explanation.sentences import device_text, id_term_text, name_term_text
from atbprobe_rules.fields import DEVICE, IDS, OP_NAME
from atbprobe_rules.op_texts import Flags
from atbprobe_rules.selection import MAX_RULES, IdTerm, NameTerm, NumberFilter, Rule, Selection, Tasks

_EVERYTHING = NumberFilter(unlimited=True)

DEFAULT = "default"
"""In place of a field: what a rule without terms takes."""


@dataclass(frozen=True)
class Term:
    """One thing that a rule asks of an op.

    A term of `ids` or `op_name`, the whole of `device`, or that there are no terms (`field` is then DEFAULT). `span` is
    None for what is not written down. An excluded term that matches keeps the rule from taking the op.
    """

    rule: Rule
    field: str
    text: str
    excluded: bool
    span: Span | None
    of: IdTerm | NameTerm | None = None


class TermMatches:
    """The terms of all rules, in their order, and what they match; `matches(term)` has one element for each op."""

    def __init__(self, selection: Selection, catalogue: Catalogue) -> None:
        self.terms = [term for rule in selection.rules for term in _terms_of(rule)]
        self._masks: list[Masks] = []
        for start in range(0, len(self.terms), MAX_RULES):
            rules = [
                _rule_of(term, number) for number, term in enumerate(self.terms[start : start + MAX_RULES], start=1)
            ]
            alone = Selection(dump_enable=True, filter_level=0, rules=tuple(rules))
            self._masks.append(taking_rules(compile_selection(alone, bytes(32)), catalogue))

    def matches(self, index: int) -> Flags:
        """Return of each op whether the term with this index matches it."""
        word, bit = divmod(index, MAX_RULES)
        flags: Flags = (self._masks[word] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        return flags

    def of_op(self, op: int) -> list[bool]:
        """Return for one op which of the terms match."""
        return [
            bool(int(self._masks[index // MAX_RULES][op]) >> index % MAX_RULES & 1) for index in range(len(self.terms))
        ]

    def words(self) -> Sequence[Masks]:
        """Return the matches as bits, 64 terms in an array."""
        return self._masks


def _terms_of(rule: Rule) -> Iterable[Term]:
    spans = [numbers.span for numbers in (*rule.devices.included, *rule.devices.excluded)]
    span = min(spans).to(max(spans)) if spans else None
    yield Term(rule, DEVICE.name, device_text(rule.devices) or "every device", False, span)
    if all(term.excluded for term in rule.ids) and all(term.excluded for term in rule.names):
        text = "no terms, with save_child: every operation" if rule.save_child else "no terms: layer-level operations"
        yield Term(rule, DEFAULT, text, False, None)
    for id_term in rule.ids:
        yield Term(rule, IDS.name, id_term_text(id_term), id_term.excluded, id_term.span, id_term)
    for name_term in rule.names:
        yield Term(rule, OP_NAME.name, name_term_text(name_term), name_term.excluded, name_term.span, name_term)


def _rule_of(term: Term, number: int) -> Rule:
    """A rule that takes what the term matches; an exclusion holds below what it matches as well."""
    rule = replace(
        term.rule,
        number=number,
        name=None,
        tasks_in=Tasks.TENSOR,
        tasks_out=Tasks.TENSOR,
        rounds=_EVERYTHING,
        devices=_EVERYTHING,
        ids=(),
        names=(),
        match_all=False,
        next=None,
        when=None,
        stop_after=None,
        max_bytes=None,
        max_tensor_bytes=None,
    )
    if term.field == DEVICE.name:
        return replace(rule, devices=term.rule.devices, save_child=True)
    if isinstance(term.of, IdTerm):
        return replace(rule, ids=(replace(term.of, excluded=False),), save_child=term.excluded or term.rule.save_child)
    if isinstance(term.of, NameTerm):
        return replace(
            rule, names=(replace(term.of, excluded=False),), save_child=term.excluded or term.rule.save_child
        )
    return rule
