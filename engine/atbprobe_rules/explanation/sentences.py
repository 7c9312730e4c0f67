"""The rules of a config in plain sentences, normalised, with everything that was left out filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atbprobe_rules.explanation.line_answers import task_names
from atbprobe_rules.explanation.rule_rounds import Rounds
from atbprobe_rules.selection import (
    MAX_NUMBER,
    AnyCharacter,
    AnyCharacters,
    AnyDepth,
    CharacterSet,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    NumberFilter,
    NumberRange,
    Rule,
    Selection,
    Tasks,
)

_FILTER_LEVELS = {
    0: "every tensor is stored whole",
    1: "below layers selected with save_child, a tensor that is stored already becomes a reference",
    2: "below layers selected with save_child, a tensor that is stored already becomes a reference, "
    "and data of kernels are left out",
    3: "below layers selected with save_child, a tensor that is stored already becomes a reference, "
    "whatever its file is called",
}
_KEPT = {Tasks.TENSOR: "data", Tasks.STATISTICS: "statistics", Tasks.TENSOR | Tasks.STATISTICS: "data and statistics"}


@dataclass(frozen=True)
class RuleSentence:
    """One rule: a sentence, and the same as data."""

    rule: Rule
    rounds: Rounds
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the object that `explain --json` has for a rule."""
        rule = self.rule
        return {
            "name": rule.label,
            "sentence": self.text,
            "in": task_names(rule.tasks_in),
            "out": task_names(rule.tasks_out),
            "ids": [id_term_text(term) for term in rule.ids],
            "op_name": [name_term_text(term) for term in rule.names],
            "save_child": rule.save_child,
            "match": "all" if rule.match_all else "any",
            "device": device_text(rule.devices),
            "exec_range": rounds_text(rule.rounds),
            "next": rule.next,
            "when": None if rule.when is None else rule.when.text,
            "stop_after": rule.stop_after,
            "max_bytes": rule.max_bytes,
            "max_tensor_bytes": rule.max_tensor_bytes,
            "rounds": {"first": list(self.rounds.first), "count": self.rounds.count},
        }


def rule_sentence(rule: Rule, rounds: Rounds) -> RuleSentence:
    """Say what a rule does, whether or not dumping is on."""
    parts = [f"keeps {_kept(rule)} of {_which(rule)}", _when(rule, rounds), _devices(rule), *_conditions(rule)]
    return RuleSentence(rule, rounds, ", ".join(parts))


def config_sentences(selection: Selection) -> list[str]:
    """Say what holds for all rules."""
    said = [] if selection.dump_enable else ['dumping is off ("dump_enable" is false): nothing is selected']
    if selection.max_bytes is not None:
        said.append(f"all rules end when they have kept {selection.max_bytes:,} bytes of data together in a process")
    return [*said, f"filter_level {selection.filter_level}: {_FILTER_LEVELS[selection.filter_level]}"]


def decision_sentences(selection: Selection) -> list[str]:
    """Say what is decided before anything is copied, and what only when tensors are there."""
    rules = selection.rules
    before = ["exec_range", "device", "ids", "op_name"]
    before += ["next"] if any(rule.next is not None for rule in rules) else []
    before += ["whether a rule has ended"] if any(rule.stop_after or rule.max_bytes for rule in rules) else []
    said = [f"decided before anything is copied: {', '.join(before)}"]
    after = ["when"] if any(rule.when is not None for rule in rules) else []
    after += ["max_tensor_bytes"] if any(rule.max_tensor_bytes for rule in rules) else []
    after += ["stop_after"] if any(rule.stop_after for rule in rules) else []
    after += ["max_bytes"] if selection.max_bytes or any(rule.max_bytes for rule in rules) else []
    if after:
        said.append(f"decided at the copy or after it, and taken as met here: {', '.join(after)}")
    return said


def _conditions(rule: Rule) -> list[str]:
    said = []
    if rule.when is not None:
        said.append(f"if an output holds {rule.when.text}")
    if rule.max_tensor_bytes is not None:
        said.append(f"of tensors beyond {rule.max_tensor_bytes:,} bytes statistics alone")
    if rule.stop_after is not None:
        said.append(f"until {rule.stop_after:,} operation{'s are' if rule.stop_after > 1 else ' is'} kept in a process")
    if rule.max_bytes is not None:
        said.append(f"until {rule.max_bytes:,} bytes of data are kept in a process")
    return said


def id_term_text(term: IdTerm) -> str:
    """Return a term of `ids` as it could be written."""
    path = "_".join(map(_id_text, term.components))
    return ("!" if term.excluded else "") + path + ("_**" if term.subtree else "")


def name_term_text(term: NameTerm) -> str:
    """Return a term of `op_name` as it could be written, in the lower case that it is compared in."""
    parts = "/".join("**" if isinstance(part, AnyDepth) else _part_text(part) for part in term.parts)
    last = term.parts[-1]
    whole = not term.prefix and isinstance(last, NamePart) and all(isinstance(atom, Literal) for atom in last.atoms)
    return ("!" if term.excluded else "") + ("=" if whole else "") + ("/" if term.anchored else "") + parts


def rounds_text(numbers: NumberFilter) -> str:
    """Return rounds as they could be written: `all`, `none`, or ranges and exclusions."""
    ranges = [_range_text(each) for each in numbers.included] + [f"!{_range_text(each)}" for each in numbers.excluded]
    if not ranges:
        return "all" if numbers.unlimited else "none"
    return "|".join(ranges)


def device_text(devices: NumberFilter) -> str:
    """Return devices as they could be written: an empty text for all."""
    ranges = [_closed_text(each) for each in devices.included] + [f"!{_closed_text(each)}" for each in devices.excluded]
    return ",".join(ranges)


def _kept(rule: Rule) -> str:
    if rule.tasks_in == rule.tasks_out:
        return f"{_KEPT[rule.tasks_in]} of the inputs and outputs"
    sides = [
        f"{_KEPT[tasks]} of the {side}"
        for side, tasks in (("inputs", rule.tasks_in), ("outputs", rule.tasks_out))
        if tasks
    ]
    return " and ".join(sides)


def _which(rule: Rule) -> str:
    ids = [term for term in rule.ids if not term.excluded]
    names = [term for term in rule.names if not term.excluded]
    excluded = [id_term_text(term)[1:] for term in rule.ids if term.excluded]
    excluded += [f'"{name_term_text(term)[1:]}"' for term in rule.names if term.excluded]
    below = " and all below them" if rule.save_child else ""
    if not ids and not names:
        which = "all operations" if rule.save_child else "the layer-level operations"
    else:
        by_id = f"operations {_either(list(map(_id_words, ids)))}" if ids else ""
        by_name = f"operations {_either(list(map(_name_words, names)))}" if names else ""
        joined = " that are also " if rule.match_all else " or of "
        which = (joined.join(part for part in (by_id, by_name) if part)) + below
    return which + (f", but not of {_either(excluded)} and what is below" if excluded else "")


def _id_words(term: IdTerm) -> str:
    path = "_".join(map(_id_text, term.components))
    return f"{path} and all below it" if term.subtree else path


def _name_words(term: NameTerm) -> str:
    text = name_term_text(term)
    if len(term.parts) > 1 or term.anchored:
        return f'on the path "{text}"'
    if term.prefix:
        return f'whose name begins with "{text}"'
    return f'called "{text[1:]}"' if text.startswith("=") else f'whose name is like "{text}"'


def _when(rule: Rule, rounds: Rounds) -> str:
    if rule.next is not None:
        return "of each the next execution" if rule.next == 1 else f"of each the next {rule.next:,} executions"
    return f"in {rounds.text()}"


def _devices(rule: Rule) -> str:
    if rule.devices.unlimited and not rule.devices.excluded:
        return "on every device"
    if rule.devices.unlimited:
        return f"on every device but {_either([_closed_text(each) for each in rule.devices.excluded])}"
    return f"on device {device_text(rule.devices)}"


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _range_text(numbers: NumberRange) -> str:
    if numbers.last < MAX_NUMBER or numbers.first == MAX_NUMBER:
        return _closed_text(numbers)
    if numbers.step > 1:
        return f"{numbers.first}-/{numbers.step}"
    return f"{numbers.first}-"


def _closed_text(numbers: NumberRange) -> str:
    if numbers.first == numbers.last:
        return str(numbers.first)
    return f"{numbers.first}-{numbers.last}" + (f"/{numbers.step}" if numbers.step > 1 else "")


def _id_text(numbers: NumberRange) -> str:
    if numbers.step > 1:
        return _closed_text(numbers)
    return "*" if (numbers.first, numbers.last) == (0, MAX_NUMBER) else _range_text(numbers)


def _part_text(part: NamePart) -> str:
    return "".join(map(_atom_text, part.atoms))


def _atom_text(atom: NameAtom) -> str:
    if isinstance(atom, Literal):
        return "".join(f"\\{letter}" if letter in "\\*?[,/" else letter for letter in atom.folded.decode())
    if isinstance(atom, AnyCharacters):
        return "*"
    if isinstance(atom, AnyCharacter):
        return "?"
    return _set_text(atom)


def _set_text(atom: CharacterSet) -> str:
    ranges = [chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in atom.ranges]
    return f"[{'!' if atom.negated else ''}{''.join(ranges)}]"
