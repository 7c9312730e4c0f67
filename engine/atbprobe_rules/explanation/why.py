"""Why an op is selected or not: term by term, and what would have to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from atbprobe_rules.catalogue.ops import Op, id_path
from atbprobe_rules.diagnostics import Source
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.rule_rounds import Rounds
from atbprobe_rules.explanation.sentences import device_text
from atbprobe_rules.explanation.term_matches import DEFAULT, Term, TermMatches
from atbprobe_rules.fields import DEVICE, DUMP_ENABLE, EXEC_RANGE, IDS, OP_NAME, SAVE_CHILD
from atbprobe_rules.op_path import OpPath, parse_op_path
from atbprobe_rules.selection import NumberFilter, Rule, Selection

_SPECIAL = "\\*?[,/"
_LEADING = "!= "


@dataclass(frozen=True)
class Change:
    """A new value for a field of a rule, or of the whole config; with all changes of a rule it takes the op.

    `own` is the term at the end of `kept` that stands for the op itself, by its ids or by its names; or none does.
    """

    field: str
    kept: str | bool
    own: str | None = None

    @property
    def value(self) -> str | bool:
        """What to write."""
        return self.kept if self.own is None else f"{self.kept},{self.own}".lstrip(",")

    def text(self) -> str:
        """Return it as words."""
        if self.field == SAVE_CHILD.name:
            return 'set "save_child": true, which takes all below what is selected'
        if self.field == DUMP_ENABLE.name:
            return 'set "dump_enable": true'
        return f'make "{self.field}" "{self.value}"'


@dataclass(frozen=True)
class TermVerdict:
    """One term, and whether it matches the op."""

    term: Term
    matched: bool


@dataclass(frozen=True)
class RuleVerdict:
    """One rule, whether it takes the op in its rounds, and what would make it take it."""

    rule: Rule
    takes: bool
    rounds: Rounds
    terms: tuple[TermVerdict, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class OpVerdict:
    """One op and what each rule says of it."""

    op: Op
    selected: bool
    rules: tuple[RuleVerdict, ...]

    def to_json(self, source: Source) -> dict[str, Any]:
        """Return the object that ``explain --why --json`` prints."""
        return {
            "head": self.op.head.decode("utf-8", "surrogateescape"),
            "path": self.op.path.decode("utf-8", "surrogateescape"),
            "id_path": id_path(self.op.path),
            "selected": self.selected,
            "rules": [_rule_to_json(verdict, source) for verdict in self.rules],
        }


def explain_op(selection: Selection, decided: OpSelection, matches: TermMatches, index: int) -> OpVerdict:
    """Say of the op with this index in the catalogue what each rule makes of it."""
    op = decided.catalogue.ops[index]
    path = parse_op_path(op.head + b"/0/" + op.path)
    matched = matches.of_op(index)
    rounds = decided.rule_rounds
    mask = int(decided.rules[index])
    verdicts = []
    for bit, rule in enumerate(selection.rules):
        terms = tuple(
            TermVerdict(term, matched[place]) for place, term in enumerate(matches.terms) if term.rule is rule
        )
        takes = bool(mask >> bit & 1)
        own_rounds = rounds.of(1 << bit)
        changes = () if takes or path is None else tuple(_changes(selection, rule, own_rounds, terms, path))
        verdicts.append(RuleVerdict(rule, takes, own_rounds, terms, changes))
    return OpVerdict(op, mask != 0, tuple(verdicts))


def _changes(
    selection: Selection, rule: Rule, rounds: Rounds, terms: Sequence[TermVerdict], path: OpPath
) -> Iterator[Change]:
    """Yield what has to be written otherwise so that the rule takes the op."""
    if not selection.dump_enable:
        yield Change(DUMP_ENABLE.name, True)
    if not rounds.first:
        yield Change(EXEC_RANGE.name, "all")
    device = next(verdict for verdict in terms if verdict.term.field == DEVICE.name)
    if not device.matched:
        yield Change(DEVICE.name, _device_value(rule.devices, path.device))
    texts = {field: [v.term.text for v in terms if v.term.field == field] for field in (IDS.name, OP_NAME.name)}
    changed: dict[str, str | None] = {}
    for verdict in terms:
        if verdict.term.excluded and verdict.matched:
            texts[verdict.term.field].remove(verdict.term.text)
            changed[verdict.term.field] = None
    included = [verdict for verdict in terms if not verdict.term.excluded and verdict.term.field != DEVICE.name]
    if included[0].term.field == DEFAULT:
        if not included[0].matched:
            yield Change(SAVE_CHILD.name, True)
    else:
        for field in _fields_to_extend(rule, included, path):
            changed[field] = _id_value(path) if field == IDS.name else _name_value(path)
    for field, own in sorted(changed.items()):
        yield Change(field, ",".join(texts[field]), own)


def _fields_to_extend(rule: Rule, included: Sequence[TermVerdict], path: OpPath) -> list[str]:
    matched = {verdict.term.field for verdict in included if verdict.matched}
    if rule.match_all:
        return [field for field in (IDS.name, OP_NAME.name) if field not in matched]
    if matched:
        return []
    return [IDS.name if _has_ids(path) else OP_NAME.name]


def _has_ids(path: OpPath) -> bool:
    return all(component.id is not None for component in path.components)


def _id_value(path: OpPath) -> str:
    return "_".join(str(component.id) for component in path.components)


def _name_value(path: OpPath) -> str:
    """A term that takes the op by the names on its way; what cannot be written in a config is left open."""
    return "=/" + "/".join(_escaped(component.name) for component in path.components)


def _escaped(name: bytes) -> str:
    text = name.decode("utf-8", "surrogateescape").lower()
    letters = []
    for place, letter in enumerate(text):
        if "\ud800" <= letter <= "\udfff":
            letters.append("*")
        elif letter in _SPECIAL or (place == 0 and letter in _LEADING) or letter.isspace():
            letters.append(f"\\{letter}")
        else:
            letters.append(letter)
    return "".join(letters) or "*"


def _device_value(devices: NumberFilter, device: int | None) -> str:
    if device is None:
        return ""  # only a rule for all devices takes an unknown one
    excluded = tuple(numbers for numbers in devices.excluded if device not in numbers)
    left = NumberFilter(devices.unlimited, devices.included, excluded)
    text = device_text(left)
    return text if left.accepts(device) else f"{text},{device}"


def _rule_to_json(verdict: RuleVerdict, source: Source) -> dict[str, Any]:
    return {
        "name": verdict.rule.label,
        "selects": verdict.takes,
        "rounds": {"first": list(verdict.rounds.first), "count": verdict.rounds.count},
        "terms": [
            {
                "field": one.term.field,
                "term": one.term.text,
                "excludes": one.term.excluded,
                "matched": one.matched,
                **_place(one.term, source),
            }
            for one in verdict.terms
        ],
        "changes": [
            {"field": change.field, "value": change.value, "text": change.text()} for change in verdict.changes
        ],
    }


def _place(term: Term, source: Source) -> dict[str, Any]:
    if term.span is None:
        return {"line": None, "column": None, "length": None}
    line, column = source.position(term.span.offset)
    return {"line": line, "column": column, "length": term.span.length}
