"""Inputs behind reports from the field, each with what is right, asked of every engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engines import assert_engines_agree

from atbprobe_rules.check import check_config
from atbprobe_rules.diagnostics import Code, Severity

ON = {"dump_enable": True, "exec_range": "all"}

# Config → ops that are taken, and ops that are not, in round 0 of device 0.
SELECTED: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "blanks around ids": ({"ids": "0, 2_1"}, ["0_Word", "2_Layer/1_Attention"], ["2_Layer", "1_Layer/1_Attention"]),
    "blanks around devices": ({"device": "1, 0"}, ["0_Word"], []),
    "blanks around names": ({"op_name": "word, lmhead"}, ["0_WordEmbedding", "5_LmHead"], ["2_Layer"]),
    "both fields, with all below": (
        {"ids": "2", "op_name": "attention", "match": "all", "save_child": True},
        ["2_Prefill_layer/1_Attention"],
        ["2_Prefill_layer/0_RmsNorm", "3_Prefill_layer/1_Attention"],
    ),
    "a range of ids": ({"ids": "0-3"}, ["0_a", "3_a"], ["4_a", "3_a/0_b"]),
    "the same child of every layer": ({"ids": "*_1"}, ["0_a/1_b", "12_a/1_b"], ["1_a", "0_a/0_b", "0_a/1_b/1_c"]),
    "a path of names": (
        {"op_name": "Prefill_layer/Attention"},
        ["2_Prefill_layer/1_Attention"],
        ["2_Prefill_layer", "2_Decoder_layer/1_Attention"],
    ),
    "everything but kernels": (
        {"op_name": "!*Kernel", "save_child": True},
        ["2_Layer", "2_Layer/1_Attention"],
        ["2_Layer/1_Attention/0_MatMulKernel", "2_Layer/0_AddKERNEL"],
    ),
    "a pattern and an exclusion": (
        {"op_name": "*attention*, !self*"},
        ["1_FusedAttentionOp", "2_Layer/1_Attention"],
        ["1_SelfAttention", "2_Layer/1_Mlp"],
    ),
    "all layers but one": ({"ids": "!1"}, ["0_a", "2_a", "11_a"], ["1_a", "1_a/0_b", "0_a/1_b"]),
    "below one, without kernels": (
        {"ids": "2", "op_name": "!*Kernel", "save_child": True},
        ["2_a", "2_a/1_b"],
        ["2_a/1_b/0_AddKernel", "1_a", "2_AddKernel"],
    ),
}

ROUNDS = {
    "5": [5],
    "0,99999999999": [0, 3, 4, 5, 6, 7, 99999999999],
    "ALL": [0, 3, 4, 5, 6, 7, 99999999999, 2**64 - 1],
    "None": [],
    "3,5,7,7": [3, 4, 5, 7],
    "!0": [3, 4, 5, 6, 7, 99999999999, 2**64 - 1],
    "!3-5": [0, 6, 7, 99999999999, 2**64 - 1],
    "5-": [5, 6, 7, 99999999999, 2**64 - 1],
}
ASKED = [0, 3, 4, 5, 6, 7, 99999999999, 2**64 - 1]

REFUSED: dict[str, list[tuple[Code, str]]] = {
    '{"ids": 2}': [(Code.WRONG_TYPE, "2")],
    '{"ids": ["0"]}': [(Code.WRONG_TYPE, '["0"]')],
    '{"ids": null}': [(Code.WRONG_TYPE, "null")],
    '{"device": 0}': [(Code.WRONG_TYPE, "0")],
    '{"ids": 2, "op_name": ["a"], "device": null}': [
        *((Code.WRONG_TYPE, "2"), (Code.WRONG_TYPE, '["a"]'), (Code.WRONG_TYPE, "null")),
    ],
    '{"dump_enable": true, "id": "2", "exec_rage": "all"}': [
        *((Code.UNKNOWN_KEY, '"id"'), (Code.UNKNOWN_KEY, '"exec_rage"')),
    ],
    '{"dump_enable": "true", "er": "0,0", "child": "true"}': [
        *((Code.WRONG_TYPE, '"true"'), (Code.UNKNOWN_KEY, '"er"'), (Code.UNKNOWN_KEY, '"child"')),
    ],
    '{"task": "stats"}': [(Code.BAD_TASK, '"stats"')],
    '{"task": "Tensor"}': [(Code.BAD_TASK, '"Tensor"')],
    '{"exec_range": "5,2"}': [(Code.REVERSED_RANGE, "5,2")],
    '{"exec_range": "2,5,8"}': [(Code.ODD_ROUNDS, "2,5,8")],
    '{"exec_range": "0,-1"}': [(Code.BAD_NUMBER, "-1")],
    '{"exec_range": "3x,7"}': [(Code.BAD_TERM, "x")],
    '{"ids": "5-3"}': [(Code.REVERSED_RANGE, "5-3")],
    '{"dump_enable": true} x': [(Code.TRAILING_TEXT, "x")],
    '{"filter_level": 2.9}': [(Code.WRONG_TYPE, "2.9")],
    '{"filter_level": true}': [(Code.WRONG_TYPE, "true")],
    "[]": [(Code.NOT_AN_OBJECT, "[]")],
    '{"ids": "2", "ids": "2"}': [(Code.DUPLICATE_KEY, '"ids"')],
}


@pytest.mark.parametrize("name", SELECTED)
def test_what_is_selected(name: str) -> None:
    config, taken, left = SELECTED[name]
    checked = check_config(json.dumps({**ON, **config}).encode(), "config.json")
    assert checked.diagnostics == ()
    asked = [(0, f"0_1234/0/{path}".encode()) for path in (*taken, *left)]
    answers = assert_engines_agree(checked.require(), asked)
    assert [bool(answer[0]) for answer in answers] == [True] * len(taken) + [False] * len(left)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_which_rounds_are_selected(rounds: str) -> None:
    checked = check_config(json.dumps({"dump_enable": True, "exec_range": rounds}).encode(), "config.json")
    answers = assert_engines_agree(checked.require(), [(number, b"0_1234/0/2_Prefill_layer") for number in ASKED])
    assert [number for number, answer in zip(ASKED, answers, strict=True) if answer[0]] == ROUNDS[rounds]


@pytest.mark.parametrize("config", REFUSED)
def test_what_is_refused_with_every_mistake_at_its_place(config: str) -> None:
    checked = check_config(config.encode(), "config.json")
    assert checked.selection is None
    found = [(d.code, checked.source.slice(d.span)) for d in checked.diagnostics if d.severity is Severity.ERROR]
    assert found == REFUSED[config]


def test_a_byte_order_mark_is_accepted() -> None:
    assert check_config(b'\xef\xbb\xbf{"dump_enable": true}', "config.json").require().dump_enable
