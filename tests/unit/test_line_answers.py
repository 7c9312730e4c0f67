"""`explain --ops` as data: executions are counted by the lines given, per op and in order."""

from __future__ import annotations

import json
from dataclasses import replace

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.explanation.line_answers import answer_lines
from atbprobe_rules.op_lines import OpLines
from atbprobe_rules.program import Program

CONFIG = b'{"dump_enable": true, "exec_range": "all", "op_name": "A", "save_child": true}'


def program(next: int | None) -> Program:
    selection = check_config(CONFIG, "config.json").require()
    (rule,) = selection.rules
    return compile_selection(replace(selection, rules=(replace(rule, next=next),)), bytes(32))


def selected(program: Program, *lines: str) -> list[bool]:
    batches = [OpLines.of("\n".join(part).encode()) for part in (lines[:4], lines[4:]) if part]
    return [answer for answers in answer_lines(program, batches) for answer in answers.selected]


def test_lines_of_an_op_are_its_executions() -> None:
    lines = ["1329\t0_1/9/1_A", "7\t0_1/9/2_A", "0_1/10/1_A", "8\t0_1/9/2_A/0_B", "1331\t0_1/11/1_A", "0_1/9/2_A"]
    assert selected(program(2), *lines) == [True, True, True, True, False, True]
    assert selected(program(1), *lines) == [True, True, False, True, False, False]
    assert selected(program(None), *lines) == [True] * 6


def test_processes_and_devices_count_apart() -> None:
    lines = ["0_1/0/1_A", "1_1/0/1_A", "0_2/0/1_A", "0_1/1/1_A"]
    assert selected(program(1), *lines) == [True, True, True, False]


def test_many_lines() -> None:
    """More than are decided at a time."""
    lines = [f"0_1/{number}/{number % 1000}_A" for number in range(70_000)]
    answers = selected(program(68), *lines)
    assert (answers.count(True), answers[67_999], answers[68_000]) == (68_000, True, False)


def test_what_is_no_op_path_is_not_selected() -> None:
    assert selected(program(1), "", "0_1", "0_1/0", "0_1/0/1_A", "x/y") == [False, False, False, True, False]


def test_conditions_stand_beside_the_rules_that_have_them() -> None:
    config = {
        "dump_enable": True,
        "rules": [{"ids": "1", "when": "nan|inf"}, {"ids": "1-2", "stop_after": 1, "max_bytes": 1, "task": "all"}],
    }
    compiled = compile_selection(check_config(json.dumps(config).encode(), "f").require(), bytes(32))
    [answers] = answer_lines(compiled, [OpLines.of(b"0_1/0/1_A\n0_1/0/2_A\n")])
    one, other = map(json.loads, answers.json_lines().splitlines())
    assert (one["rules"], other["rules"]) == (["1", "2"], ["2"])
    assert one["in"] == other["out"] == ["tensor", "statistics"]
    assert ["rule 1 (when nonfinite), 2;" in line for line in answers.text_lines().splitlines()] == [True, False]
