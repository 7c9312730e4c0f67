"""Of a rule that selects no op of a catalogue: what keeps it from it, and what comes nearest."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from atbprobe_rules.catalogue.ops import key_of, names_of
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.sentences import id_term_text, name_term_text
from atbprobe_rules.explanation.term_matches import DEFAULT, Term, TermMatches
from atbprobe_rules.fields import DEVICE, IDS, OP_NAME
from atbprobe_rules.op_path import parse_op_path
from atbprobe_rules.op_texts import Flags
from atbprobe_rules.selection import IdTerm, Literal, NamePart, NameTerm, Rule, Selection

_MOST_NAMES = 2_000
_MOST_LISTED = 8


@dataclass(frozen=True)
class Miss:
    """Why a rule selects nothing. `term` is what it is about, if that is written down."""

    rule: Rule
    reason: str
    term: Term | None = None


class NearMisses:
    """Looks for what is nearest in one catalogue."""

    def __init__(self, selection: Selection, decided: OpSelection, matches: TermMatches) -> None:
        self._selection = selection
        self._decided = decided
        self._matches = matches

    def all(self) -> list[Miss]:
        """Return the misses of every rule that selects no op."""
        found = []
        if not self._selection.dump_enable:
            found.append(Miss(self._selection.rules[0], 'dumping is off: "dump_enable" is false'))
        for bit, rule in enumerate(self._selection.rules):
            if not self._decided.selects(bit).any() and len(self._decided.catalogue) > 0:
                found += self._of_rule(bit, rule)
        return found

    def _of_rule(self, bit: int, rule: Rule) -> list[Miss]:
        found = []
        if not self._decided.rule_rounds.of(1 << bit).first:
            found.append(Miss(rule, "it has no round"))
        own = [(index, term) for index, term in enumerate(self._matches.terms) if term.rule is rule]
        device_index, device = next((index, term) for index, term in own if term.field == DEVICE.name)
        on_device = self._matches.matches(device_index)
        if not on_device.any():
            there = f"there is only {_devices(self._decided)}"
            found.append(Miss(rule, f"no process is on device {device.text}: {there}", device))
        included = [(index, term) for index, term in own if not term.excluded and term.field != DEVICE.name]
        hits = {index: self._matches.matches(index) for index, _ in included}
        found += [Miss(rule, self._nearest(term), term) for index, term in included if not hits[index].any()]
        taken = self._taken(rule, included, hits)
        if any(hit.any() for hit in hits.values()) and not taken.any():
            found.append(Miss(rule, 'no operation is taken by both "ids" and "op_name", which "match": "all" asks for'))
        if (left := taken & on_device).any() and self._selection.dump_enable:
            for index, term in own:
                if term.excluded and (left & self._matches.matches(index)).any():
                    count = int(np.count_nonzero(left & self._matches.matches(index)))
                    found.append(Miss(rule, f'"{term.text}" takes away {_operations(count)} that it would take', term))
        elif taken.any() and on_device.any():
            found.append(Miss(rule, "what its terms take is in processes on other devices", device))
        return found

    def _taken(self, rule: Rule, included: Sequence[tuple[int, Term]], hits: dict[int, Flags]) -> Flags:
        """The ops that the terms take, exclusions aside."""
        by_field: dict[str, Flags] = {}
        for index, term in included:
            by_field[term.field] = by_field.get(term.field, np.zeros_like(hits[index])) | hits[index]
        fields = list(by_field.values())
        joined = fields[0]
        for flags in fields[1:]:
            joined = joined & flags if rule.match_all else joined | flags
        return joined

    def _nearest(self, term: Term) -> str:
        if term.field == IDS.name and isinstance(term.of, IdTerm):
            return self._nearest_ids(term.of)
        if term.field == OP_NAME.name and isinstance(term.of, NameTerm):
            return self._nearest_name(term.of)
        assert term.field == DEFAULT
        return "there is no layer-level operation"

    def _nearest_ids(self, term: IdTerm) -> str:
        """Go down the tree as far as the term leads, and say what is there instead."""
        text = f'no operation is "{id_term_text(term)}"'
        level: set[tuple[int, ...]] = {()}
        for depth, numbers in enumerate(term.components):
            below = {path[: depth + 1] for path in self._id_paths if path[:depth] in level and len(path) > depth}
            next_level = {path for path in below if path[depth] in numbers}
            if not next_level:
                where = "layer-level operations" if depth == 0 else f"below {_listed_paths(level)}"
                there = sorted({path[depth] for path in below})
                return (
                    f"{text}: {where} there is {_numbers(there)}" if depth else f"{text}: {where} are {_numbers(there)}"
                )
            level = next_level
        return f"{text} as ids are written, without leading zeros"

    def _nearest_name(self, term: NameTerm) -> str:
        text = f'no operation has the name "{name_term_text(term)}"'
        parts = [part for part in term.parts if isinstance(part, NamePart)]
        if not parts:
            return text
        missing = []
        for part in parts:
            word = "".join(atom.folded.decode() for atom in part.atoms if isinstance(atom, Literal))
            close = difflib.get_close_matches(word, self._folded_names, n=1, cutoff=0.5)
            if close and self._folded_names[close[0]].lower() != word:
                missing.append(f'nearest to "{word}" is "{self._folded_names[close[0]]}"')
        return f"{text}: {', '.join(missing)}" if missing else text

    @cached_property
    def _id_paths(self) -> list[tuple[int, ...]]:
        found = []
        for key in {key_of(op.path) for op in self._decided.catalogue.ops}:
            if all(part.isdigit() and len(part) <= 20 for part in key):
                found.append(tuple(map(int, key)))
        return found

    @cached_property
    def _folded_names(self) -> dict[str, str]:
        """The names of the catalogue, by what they are in lower case."""
        names: dict[str, str] = {}
        for op in self._decided.catalogue.ops:
            name = names_of(op.path)[-1]
            names.setdefault(name.lower(), name)
            if len(names) >= _MOST_NAMES:
                break
        return names


def _devices(decided: OpSelection) -> str:
    devices = set()
    for head in {op.head for op in decided.catalogue.ops}:
        path = parse_op_path(head + b"/0/x")
        devices.add(None if path is None else path.device)
    known = sorted(device for device in devices if device is not None)
    unknown = ["an unknown device"] if None in devices else []
    return " and ".join(([f"device {_numbers(known)}"] if known else []) + unknown)


def _numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return "nothing"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    shown = ", ".join(map(str, numbers[:_MOST_LISTED]))
    return shown + (" …" if len(numbers) > _MOST_LISTED else "")


def _listed_paths(paths: set[tuple[int, ...]]) -> str:
    texts = ["_".join(map(str, path)) for path in sorted(paths)[:_MOST_LISTED]]
    return ", ".join(texts) + (" …" if len(paths) > _MOST_LISTED else "")


def _operations(count: int) -> str:
    return f"{count:,} operations" if count > 1 else "the one operation"
