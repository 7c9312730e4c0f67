"""From a checked selection to the tables of a program.

The sides of a rule are lowered apart: rounds and devices to intervals, id terms into one automaton over the
ids of a whole op path, name terms into one over the name of a component. A name term of several parts, or one
tied to the layer-level operation, becomes a run of positions: bits that advance from component to component
as the names of these match. Equal terms of several rules share a run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atbprobe_rules.automaton import Automaton, build
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.image import MAX_IMAGE_BYTES, image_size
from atbprobe_rules.pattern import START, AutomatonTooLargeError, Emission, PatternGraph
from atbprobe_rules.program import (
    ACTION,
    BYTE,
    EMISSION,
    MAX_PATH_WORDS,
    PATH_ACCEPT,
    PATH_WORD,
    POSITIONS,
    PROGRAM,
    RULE_NAME,
    WORD,
    Program,
    Records,
    emission_records,
    lower_numbers,
    position_rows,
)
from atbprobe_rules.selection import (
    AnyCharacters,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    NumberRange,
    Rule,
    Selection,
)

_WORD_BITS = 64
_SHOWN_CHARACTERS = 60


class ProgramTooLargeError(AtbprobeError):
    """The rules need more tables than the format allows; `term` is the one that adds most to them."""

    def __init__(self, reason: str, term: IdTerm | NameTerm | None) -> None:
        costliest = f"; the costliest term is {_describe(term)}" if term is not None else ""
        super().__init__(f"the rules are too large: {reason}{costliest}")
        self.term = term


def compile_selection(selection: Selection, config_hash: bytes) -> Program:
    """Return the program that decides as `selection` says; raises ProgramTooLargeError.

    `config_hash` is the SHA-256 of the config file's bytes: it tells others what the program was made from.
    """
    rules = selection.rules
    terms = _Terms()
    try:
        for bit, rule in enumerate(rules):
            terms.add_rule(bit, rule)
        ids = build(terms.ids) if any(rule.ids for rule in rules) else None
        names = build(terms.names) if any(rule.names for rule in rules) else None
    except AutomatonTooLargeError as error:
        raise ProgramTooLargeError(str(error), terms.costliest) from error
    path_words, path_accepts = terms.runs.records()
    if len(path_words) > MAX_PATH_WORDS:
        raise ProgramTooLargeError(
            f"the terms of several names have more than {MAX_PATH_WORDS * _WORD_BITS} parts", terms.costliest
        )

    rounds, round_strides = lower_numbers([rule.rounds for rule in rules])
    devices, device_strides = lower_numbers([rule.devices for rule in rules])
    rule_names, text = _rule_names(rules)
    program = Program(
        config_hash=config_hash,
        generation=0,
        program=_program_record(selection, ids, names),
        rounds=rounds,
        round_strides=round_strides,
        devices=devices,
        device_strides=device_strides,
        id_classes=ids.classes if ids else np.empty(0, BYTE),
        id_transitions=ids.transitions if ids else np.empty(0, WORD),
        id_states=ids.states if ids else np.empty(0, WORD),
        id_emissions=emission_records(ids) if ids else np.empty(0, EMISSION),
        name_classes=names.classes if names else np.empty(0, BYTE),
        name_transitions=names.transitions if names else np.empty(0, WORD),
        name_states=names.states if names else np.empty(0, WORD),
        name_emissions=emission_records(names) if names else np.empty(0, EMISSION),
        name_positions=position_rows(names, len(path_words)) if names else np.empty(0, POSITIONS),
        path_words=path_words,
        path_accepts=path_accepts,
        actions=_actions(rules),
        rule_name_records=rule_names,
        text=text,
    )
    size = image_size(program)
    if size > MAX_IMAGE_BYTES:
        raise ProgramTooLargeError(f"the image would have {size} of {MAX_IMAGE_BYTES} bytes", terms.costliest)
    return program


class _Terms:
    """The terms of all rules, as patterns."""

    def __init__(self) -> None:
        self.ids = PatternGraph()
        self.names = PatternGraph()
        self.runs = _PathRuns(self.names)
        self.costliest: IdTerm | NameTerm | None = None
        self._highest_cost = 0

    def add_rule(self, bit: int, rule: Rule) -> None:
        for term in _terms_of(rule):
            before = self._size()
            try:
                if isinstance(term, IdTerm):
                    self._add_ids(term, _effect(bit, term.excluded, rule.save_child or term.subtree))
                else:
                    self._add_name(bit, term, rule.save_child)
            finally:
                cost = self._size() - before
                if cost > self._highest_cost:
                    self._highest_cost = cost
                    self.costliest = term

    def _size(self) -> int:
        return len(self.ids) + len(self.names) + len(self.runs)

    def _add_ids(self, term: IdTerm, effect: Emission) -> None:
        position = START
        for depth, numbers in enumerate(term.components):
            if depth > 0:
                position = self.ids.literal(position, b"_")
            position = self.ids.number(position, numbers.first, numbers.last, numbers.step)
        self.ids.accept(position, effect)

    def _add_name(self, bit: int, term: NameTerm, save_child: bool) -> None:
        """Add a term; a `**` in front unties it from the layer, one behind takes in all that is below."""
        parts = [part for part in term.parts if isinstance(part, NamePart)]
        ends_in_name = isinstance(term.parts[-1], NamePart)
        effect = _effect(bit, term.excluded, save_child or not ends_in_name)
        anchored = term.anchored and isinstance(term.parts[0], NamePart)
        prefix = term.prefix and ends_in_name
        if not parts:
            self.names.accept(START, effect, prefix=True)
        elif len(parts) == 1 and not anchored:
            self.names.accept(draw_name(self.names, parts[0].atoms), effect, prefix)
        else:
            gaps = tuple(
                not isinstance(following, NamePart)
                for part, following in zip(term.parts, term.parts[1:], strict=False)
                if isinstance(part, NamePart)
            )
            self.runs.add(tuple(part.atoms for part in parts), gaps, anchored, prefix, effect)


class _PathRuns:
    """The runs of positions of terms of several parts, and what completes them."""

    def __init__(self, names: PatternGraph) -> None:
        self._names = names
        self._count = 0
        self._last_positions: dict[tuple[object, ...], int] = {}
        self._accepts: dict[int, int] = {}
        self._start = 0
        self._anchored = 0
        self._sticky = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        parts: tuple[tuple[NameAtom, ...], ...],
        gaps: tuple[bool, ...],
        anchored: bool,
        prefix: bool,
        effect: Emission,
    ) -> None:
        """Add a term; `gaps` tells for each part whether any number of components may follow."""
        key = (parts, gaps, anchored, prefix)
        if key not in self._last_positions:
            self._last_positions[key] = self._add_run(parts, gaps, anchored, prefix)
        last = self._last_positions[key]
        self._accepts[last] = self._accepts.get(last, 0) | effect.packed()

    def records(self) -> tuple[Records, Records]:
        """Return the PATH_WORD and the PATH_ACCEPT records."""
        words = []
        accept = sum(1 << position for position in self._accepts)
        for shift in range(0, self._count, _WORD_BITS):
            masks = (self._start, self._anchored, self._sticky, accept)
            accept_base = (accept & ((1 << shift) - 1)).bit_count()
            words.append((*(mask >> shift & (1 << _WORD_BITS) - 1 for mask in masks), accept_base))
        effects = [Emission.unpack(packed) for _, packed in sorted(self._accepts.items())]
        accepts = [(effect.here, effect.below, effect.excluded) for effect in effects]
        return np.array(words, dtype=PATH_WORD), np.array(accepts, dtype=PATH_ACCEPT)

    def _add_run(
        self, parts: tuple[tuple[NameAtom, ...], ...], gaps: tuple[bool, ...], anchored: bool, prefix: bool
    ) -> int:
        if anchored:
            # A position that nothing matches, so that the end of the run before does not lead into this one.
            self._count += self._count > 0
            self._anchored |= 1 << self._count
        else:
            self._start |= 1 << self._count
        for index, atoms in enumerate(parts):
            bit = 1 << self._count
            is_last = index == len(parts) - 1
            self._names.accept(draw_name(self._names, atoms), Emission(positions=bit), prefix=prefix and is_last)
            if not is_last and gaps[index]:
                self._sticky |= bit
            self._count += 1
        return self._count - 1


def draw_name(names: PatternGraph, atoms: Sequence[NameAtom]) -> int:
    """Draw the pattern of one name, case folded, and return its last position."""
    position = START
    for atom in atoms:
        if isinstance(atom, Literal):
            position = names.literal(position, atom.folded, fold_case=True)
        elif isinstance(atom, AnyCharacters):
            position = names.any_bytes(position)
        else:
            raise ValueError(f"{type(atom).__name__} cannot be compiled in this version")
    return position


def _terms_of(rule: Rule) -> list[IdTerm | NameTerm]:
    return [*rule.ids, *rule.names]


def _effect(bit: int, excluded: bool, below: bool) -> Emission:
    rule = 1 << bit
    if excluded:
        return Emission(excluded=rule)
    return Emission(below=rule) if below else Emission(here=rule)


def _program_record(selection: Selection, ids: Automaton | None, names: Automaton | None) -> Records:
    record = np.zeros(1, dtype=PROGRAM)
    for bit, rule in enumerate(selection.rules):
        mask = np.uint64(1 << bit)
        if selection.dump_enable:
            record["enabled_rules"] |= mask
        if all(term.excluded for term in _terms_of(rule)):
            record["select_all" if rule.save_child else "select_layers"] |= mask
        if rule.match_all:
            record["match_all"] |= mask
        if rule.devices.unlimited:
            record["unknown_device"] |= mask
    record["rule_count"] = len(selection.rules)
    record["dump_enable"] = selection.dump_enable
    record["filter_level"] = selection.filter_level
    for prefix, automaton in (("id", ids), ("name", names)):
        if automaton is not None:
            record[f"{prefix}_class_count"] = automaton.class_count
            record[f"{prefix}_start"] = automaton.start
            record[f"{prefix}_absorbing"] = automaton.absorbing
    return record


def _actions(rules: Sequence[Rule]) -> Records:
    actions = np.zeros(len(rules), dtype=ACTION)
    actions["input_tasks"] = [int(rule.tasks_in) for rule in rules]
    actions["output_tasks"] = [int(rule.tasks_out) for rule in rules]
    actions["save_child"] = [rule.save_child for rule in rules]
    actions["next"] = [rule.next or 0 for rule in rules]
    return actions


def _rule_names(rules: Sequence[Rule]) -> tuple[Records, npt.NDArray[np.uint8]]:
    """Return RULE_NAME records and the text that they point into."""
    text = b""
    records = []
    for rule in rules:
        label = rule.label.encode("utf-8", "replace")
        records.append((len(text), len(label), rule.span.offset, rule.span.length))
        text += label
    return np.array(records, dtype=RULE_NAME), np.frombuffer(text, dtype=np.uint8)


def _describe(term: IdTerm | NameTerm) -> str:
    """Return the term much as it was written, cut when it is long."""
    if isinstance(term, IdTerm):
        shown = "_".join(_describe_numbers(numbers) for numbers in term.components)
    else:
        shown = "/".join(_describe_part(part) for part in term.parts)
    return f'"{shown}"' if len(shown) <= _SHOWN_CHARACTERS else f'"{shown[:_SHOWN_CHARACTERS]}…"'


def _describe_numbers(numbers: NumberRange) -> str:
    if numbers.first == numbers.last:
        return str(numbers.first)
    step = f"/{numbers.step}" if numbers.step != 1 else ""
    return f"{numbers.first}-{numbers.last}{step}"


def _describe_part(part: object) -> str:
    if not isinstance(part, NamePart):
        return "**"
    return "".join(atom.folded.decode("utf-8", "replace") if isinstance(atom, Literal) else "*" for atom in part.atoms)
