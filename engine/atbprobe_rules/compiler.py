"""From a checked selection to the tables of a program.

The sides of a rule are lowered apart: rounds and devices to intervals, id terms into one automaton over the
ids of a whole op path, name terms into one over the name of a component.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atbprobe_rules.automaton import Automaton, build
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.image import MAX_IMAGE_BYTES, image_size
from atbprobe_rules.pattern import AutomatonTooLargeError
from atbprobe_rules.program import (
    ACTION,
    BYTE,
    CONDITION_ABOVE,
    CONDITION_INFINITY,
    CONDITION_NAN,
    EMISSION,
    MAX_PATH_WORDS,
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
from atbprobe_rules.selection import Condition, IdTerm, NameTerm, Rule, Selection
from atbprobe_rules.term_graphs import WORD_BITS, TermGraphs, costliest_term, longest_term, terms_of


class ProgramTooLargeError(AtbprobeError):
    """The rules need more tables than the format allows; `term` is the one that costs most of them, if known."""

    def __init__(self, reason: str, term: IdTerm | NameTerm | None) -> None:
        super().__init__(f"the rules are too large: {reason}")
        self.term = term


def compile_selection(selection: Selection, config_hash: bytes) -> Program:
    """Return the program that decides as `selection` says; raises ProgramTooLargeError.

    `config_hash` is the SHA-256 of the config file's bytes: it tells others what the program was made from.
    """
    rules = selection.rules
    terms = TermGraphs()
    try:
        for bit, rule in enumerate(rules):
            terms.add_rule(bit, rule)
        ids = build(terms.ids) if any(rule.ids for rule in rules) else None
        names = build(terms.names) if any(rule.names for rule in rules) else None
    except AutomatonTooLargeError as error:
        raise ProgramTooLargeError(str(error), costliest_term(rules)) from error
    path_words, path_accepts = terms.runs.records()
    if len(path_words) > MAX_PATH_WORDS:
        reason = f"the terms of several names have more than {MAX_PATH_WORDS * WORD_BITS} parts"
        raise ProgramTooLargeError(reason, longest_term(rules))

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
        raise ProgramTooLargeError(f"the image would have {size} of {MAX_IMAGE_BYTES} bytes", costliest_term(rules))
    return program


def _program_record(selection: Selection, ids: Automaton | None, names: Automaton | None) -> Records:
    record = np.zeros(1, dtype=PROGRAM)
    for bit, rule in enumerate(selection.rules):
        mask = np.uint64(1 << bit)
        if selection.dump_enable:
            record["enabled_rules"] |= mask
        if all(term.excluded for term in terms_of(rule)):
            record["select_all" if rule.save_child else "select_layers"] |= mask
        if rule.match_all:
            record["match_all"] |= mask
        if rule.devices.unlimited:
            record["unknown_device"] |= mask
    record["rule_count"] = len(selection.rules)
    record["dump_enable"] = selection.dump_enable
    record["filter_level"] = selection.filter_level
    record["max_bytes"] = selection.max_bytes or 0
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
    for limit in ("next", "max_bytes", "max_tensor_bytes", "stop_after"):
        actions[limit] = [getattr(rule, limit) or 0 for rule in rules]
    for action, rule in zip(actions, rules, strict=True):
        if rule.when is not None:
            action["condition"] = _condition_bits(rule.when)
            action["condition_bound"] = rule.when.above or 0.0
    return actions


def _condition_bits(condition: Condition) -> int:
    bits = CONDITION_NAN if condition.nan else 0
    bits |= CONDITION_INFINITY if condition.infinity else 0
    return bits | (CONDITION_ABOVE if condition.above is not None else 0)


def _rule_names(rules: Sequence[Rule]) -> tuple[Records, npt.NDArray[np.uint8]]:
    """Return RULE_NAME records and the text that they point into."""
    text = b""
    records = []
    for rule in rules:
        label = rule.label.encode("utf-8", "replace")
        records.append((len(text), len(label), rule.span.offset, rule.span.length))
        text += label
    return np.array(records, dtype=RULE_NAME), np.frombuffer(text, dtype=np.uint8)
