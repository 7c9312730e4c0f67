"""The checks that make a program safe to evaluate, whoever wrote its tables.

They are those of interposer/program_verifier.cpp, in the same order and with the same verdicts. What they do
not check, no evaluator relies on.
"""

from __future__ import annotations

import numpy as np

from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.program import (
    CONDITION_ABOVE,
    CONDITION_END,
    MAX_PATH_WORDS,
    AutomatonTables,
    Program,
    Records,
)
from atbprobe_rules.selection import MAX_RULES, Tasks

_ALL_TASKS = int(Tasks.TENSOR | Tasks.STATISTICS)
_MAX_FILTER_LEVEL = 3


class ImageError(AtbprobeError):
    """The bytes are no program that may be run; `reason` is the verdict on them."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not a usable program image: {reason}")
        self.reason = reason


def check(holds: bool | np.bool_, reason: str) -> None:
    """Raise ImageError unless `holds`."""
    if not holds:
        raise ImageError(reason)


def verify_program(program: Program) -> None:
    """Raise ImageError unless all tables of `program` stay within each other's bounds."""
    _verify_record(program.program)
    _verify_numbers(program.rounds, program.round_strides)
    _verify_numbers(program.devices, program.device_strides)
    _verify_automaton(program.ids)
    _verify_dead_state(program.ids)
    _verify_automaton(program.names)
    _verify_paths(program)
    _verify_actions(program)
    _verify_names(program)


def _verify_record(records: Records) -> None:
    check(len(records) != 0, "missing-section")
    check(len(records) == 1, "bad-program")
    record = records[0]
    rules = int(record["rule_count"])
    check(0 < rules <= MAX_RULES, "bad-program")
    check(int(record["enabled_rules"]) >> rules == 0, "bad-program")
    check(record["dump_enable"] <= 1 and record["filter_level"] <= _MAX_FILTER_LEVEL, "bad-program")
    check(record["dump_enable"] == 1 or record["enabled_rules"] == 0, "bad-program")


def _verify_numbers(intervals: Records, strides: Records) -> None:
    check(len(intervals) > 0, "missing-section")
    first = intervals["first"]
    check(first[0] == 0 and np.all(first[1:] > first[:-1]), "bad-intervals")
    check(np.all((strides["step"] > 0) & (strides["first"] <= strides["last"])), "bad-strides")


def _verify_automaton(tables: AutomatonTables) -> None:
    class_count = tables.class_count
    if class_count == 0:
        absent = len(tables.classes) == 0 and len(tables.transitions) == 0 and len(tables.states) == 0
        check(absent and tables.start == 0 and tables.absorbing == 0, "bad-classes")
        return
    check(class_count <= 256 and len(tables.classes) == 256, "bad-classes")
    check(np.all(tables.classes < class_count), "bad-classes")

    cells = len(tables.transitions)
    check(0 < cells == len(tables.states) * class_count, "bad-transitions")
    check(tables.start < cells and tables.start % class_count == 0, "bad-transitions")
    check(tables.absorbing <= cells and tables.absorbing % class_count == 0, "bad-transitions")
    check(np.all((tables.transitions < cells) & (tables.transitions % class_count == 0)), "bad-transitions")
    absorbing = np.arange(tables.absorbing)
    own_rows = absorbing - absorbing % class_count
    check(np.all(tables.transitions[: tables.absorbing] == own_rows), "bad-transitions")
    check(np.all(tables.states < len(tables.emissions)), "bad-states")


def _verify_dead_state(ids: AutomatonTables) -> None:
    """Evaluators jump to row 0 of the ids where a component has no id, so that row must be a dead end."""
    if ids.class_count == 0:
        return
    check(ids.absorbing > 0, "bad-states")
    check(not any(ids.emissions[ids.states[0]].tolist()), "bad-states")


def _verify_paths(program: Program) -> None:
    words = len(program.path_words)
    positions = len(program.name_positions)
    check(words <= MAX_PATH_WORDS, "bad-positions")
    if words == 0:
        check(positions == 0 and len(program.path_accepts) == 0, "bad-positions")
        return
    check(positions == words * len(program.name_emissions), "bad-positions")
    accepts = 0
    for word in program.path_words.tolist():
        _, _, _, accept, accept_base = word
        check(accept_base == accepts, "bad-accepts")
        accepts += accept.bit_count()
    check(accepts == len(program.path_accepts), "bad-accepts")


def _verify_actions(program: Program) -> None:
    actions = program.actions
    check(len(actions) == program.program[0]["rule_count"], "bad-actions")
    for action in actions:
        tasks = int(action["input_tasks"] | action["output_tasks"])
        check(tasks & ~_ALL_TASKS == 0 and action["save_child"] <= 1, "bad-actions")
        check(action["condition"] < CONDITION_END and action["reserved"] == 0, "unsupported")
        has_bound = action["condition"] & CONDITION_ABOVE
        largest = np.finfo(np.float64).max if has_bound else 0
        check(bool(0 <= action["condition_bound"] <= largest), "bad-actions")


def _verify_names(program: Program) -> None:
    records = program.rule_name_records
    check(len(records) == program.program[0]["rule_count"], "bad-names")
    end = records["text_offset"].astype(np.uint64) + records["text_length"]
    check(np.all(end <= len(program.text)), "bad-names")
