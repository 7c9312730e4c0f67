"""The vectorised evaluator on its own: what it takes, and what its answers look like."""

from __future__ import annotations

import pytest

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.evaluate import DECISION, decide_many
from atbprobe_rules.program import Program


@pytest.fixture
def program() -> Program:
    config = b"""{"dump_enable": true, "task": "all", "exec_range": "1,2", "ids": "1_0", "op_name": "LmHead,Pre/B",
                  "device": "0,3", "save_child": true}"""
    return compile_selection(check_config(config, "config.json").require(), bytes(32))


def test_answers(program: Program) -> None:
    selected, not_in_round, not_in_dir, neither = (1, 1, 1, 3, 3), (0, 0, 1, 0, 0), (0, 1, 0, 0, 0), (0, 0, 0, 0, 0)
    asked = {
        (1, "0_7/0/1_x/0_y"): selected,
        (2, "03_7/0/9_x/1_lmheadKernel/5_z"): selected,
        (2, "3_7/0/9_pre/1_Bx/5_z"): selected,
        (2, "3_7/0/9_prefill/1_B"): not_in_dir,
        (3, "0_7/0/1_x/0_y"): not_in_round,
        (1, "1_7/0/1_x/0_y"): not_in_dir,
        (1, "-1_7/0/1_x/0_y"): not_in_dir,
        (1, "0_7/0/1_x/00_y"): not_in_dir,
        (1, "0_7/0/1_x"): not_in_dir,
        (1, "0_7/0"): not_in_dir,
        (0, ""): neither,
    }
    decisions = decide_many(program, [round_number for round_number, _ in asked], [path for _, path in asked])
    assert decisions.dtype == DECISION
    assert dict(zip(asked, decisions.tolist(), strict=True)) == asked


def test_text_and_bytes_are_the_same(program: Program) -> None:
    paths = ["0_7/0/1_\udcff/0_é", b"0_7/0/1_\xff/0_\xc3\xa9"]
    assert decide_many(program, [1, 1], paths)["rules"].tolist() == [1, 1]


def test_nothing_asked(program: Program) -> None:
    assert len(decide_many(program, [], [])) == 0


def test_the_largest_round(program: Program) -> None:
    assert decide_many(program, [2**64 - 1], ["0_7/0/1_x/0_y"])["count_in_range"].tolist() == [0]


def test_as_many_rounds_as_directories(program: Program) -> None:
    with pytest.raises(ValueError, match="2 directories"):
        decide_many(program, [1], ["a", "b"])
    with pytest.raises(ValueError, match="as many earlier executions"):
        decide_many(program, [1, 1], ["a", "b"], [0])


def test_program_without_terms() -> None:
    config = b'{"dump_enable": true, "exec_range": "all"}'
    program = compile_selection(check_config(config, "config.json").require(), bytes(32))
    decisions = decide_many(program, [0, 0], ["x/0/anything", "x/0/any/thing"])
    assert decisions["rules"].tolist() == [1, 0]
