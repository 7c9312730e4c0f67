"""The slow and obvious reference: what a selection says to one question of the host.

It reads the checked config alone and knows nothing of the compiled form, so that the two can be held against
each other. Every function is a sentence of the language's definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atbprobe_rules.op_path import OpComponent, OpPath, parse_op_path
from atbprobe_rules.selection import (
    AnyCharacter,
    AnyCharacters,
    AnyDepth,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    Rule,
    Selection,
    Tasks,
)


@dataclass(frozen=True)
class Decision:
    """The answers to one execution of an op.

    `count_in_range` and `in_specific_dir` are what IsExecuteCountInRange and IsSaveTensorInSpecificDir say,
    each without knowing of the other, nor of `next`. `rules` are the numbers of the rules that select the
    execution, by round, device, path and `next`; the tasks are what these together keep of its inputs and outputs.
    That is so if its outputs meet every condition and no rule has ended: values and sizes are not asked about.
    """

    count_in_range: bool
    in_specific_dir: bool
    rules: tuple[int, ...]
    tasks_in: Tasks
    tasks_out: Tasks


def decide(selection: Selection, round: int, directory: bytes | str, earlier: int = 0) -> Decision:
    """Decide the execution number `round` (from 0) of the op that the host calls `directory`.

    `earlier` is how many executions of this op came before it under these rules, which is what `next` counts.
    """
    rules = selection.rules if selection.dump_enable else ()
    path = parse_op_path(directory)
    in_round = [rule for rule in rules if rule.rounds.accepts(round)]
    in_directory = [rule for rule in rules if path is not None and _accepts_directory(rule, path)]
    selecting = [rule for rule in in_round if rule in in_directory and (rule.next is None or earlier < rule.next)]
    tasks_in = tasks_out = Tasks.NONE
    for rule in selecting:
        tasks_in |= rule.tasks_in
        tasks_out |= rule.tasks_out
    numbers = tuple(rule.number for rule in selecting)
    return Decision(bool(in_round), bool(in_directory), numbers, tasks_in, tasks_out)


def _accepts_directory(rule: Rule, path: OpPath) -> bool:
    return rule.devices.accepts(path.device) and _accepts_path(rule, path.components)


def _accepts_path(rule: Rule, components: Sequence[OpComponent]) -> bool:
    if _is_excluded(rule, components):
        return False
    ids = [term for term in rule.ids if not term.excluded]
    names = [term for term in rule.names if not term.excluded]
    by_id = any(_id_term_accepts(term, components, rule.save_child or term.subtree) for term in ids)
    by_name = any(_name_term_accepts(term, components, rule.save_child) for term in names)
    if not ids and not names:
        return rule.save_child or len(components) == 1
    return (by_id and by_name) if rule.match_all else (by_id or by_name)


def _is_excluded(rule: Rule, components: Sequence[OpComponent]) -> bool:
    """An exclusion holds for the op it matches and for all below it."""
    return any(_id_term_accepts(term, components, True) for term in rule.ids if term.excluded) or any(
        _name_term_accepts(term, components, True) for term in rule.names if term.excluded
    )


def _id_term_accepts(term: IdTerm, components: Sequence[OpComponent], below_too: bool) -> bool:
    if len(components) < len(term.components) or (len(components) > len(term.components) and not below_too):
        return False
    return all(
        component.id is not None and component.id in numbers
        for numbers, component in zip(term.components, components, strict=False)
    )


def _name_term_accepts(term: NameTerm, components: Sequence[OpComponent], below_too: bool) -> bool:
    """The last part must match the op itself; with `below_too` the op or any op above it."""
    names = [component.name.lower() for component in components]
    starts = [0] if term.anchored else range(len(names))
    ends = range(1, len(names) + 1) if below_too else [len(names)]
    return any(_parts_match(term.parts, term.prefix, names[start:end]) for start in starts for end in ends)


def _parts_match(parts: Sequence[NamePart | AnyDepth], prefix: bool, names: Sequence[bytes]) -> bool:
    """Tell whether the parts match exactly these names; with `prefix` the last one only begins its name."""
    if not parts:
        return not names
    first, rest = parts[0], parts[1:]
    if isinstance(first, AnyDepth):
        return any(_parts_match(rest, prefix, names[skipped:]) for skipped in range(len(names) + 1))
    if not names:
        return False
    return _atoms_match(first.atoms, names[0], prefix and not rest) and _parts_match(rest, prefix, names[1:])


def _atoms_match(atoms: Sequence[NameAtom], name: bytes, prefix: bool) -> bool:
    """Match a name in lower case; a byte that is not UTF-8 is no character, and only `*` takes it."""
    return _characters_match(atoms, name.decode("utf-8", "surrogateescape"), prefix)


def _characters_match(atoms: Sequence[NameAtom], text: str, prefix: bool) -> bool:
    if not atoms:
        return prefix or not text
    first, rest = atoms[0], atoms[1:]
    if isinstance(first, Literal):
        literal = first.folded.decode()
        return text.startswith(literal) and _characters_match(rest, text[len(literal) :], prefix)
    if isinstance(first, AnyCharacters):
        return any(_characters_match(rest, text[skipped:], prefix) for skipped in range(len(text) + 1))
    if not text or "\ud800" <= text[0] <= "\udfff":
        return False
    if isinstance(first, AnyCharacter):
        return _characters_match(rest, text[1:], prefix)
    return text[0] in first and _characters_match(rest, text[1:], prefix)
