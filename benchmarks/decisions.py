"""What the questions about one execution of an operation cost a host: nanoseconds on the CPU, see decision_host.cpp."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.libraries import Library, host_program

MILLISECONDS = 60

# 16 terms, as somebody has them who narrows a fault down: eight operations and eight names.
IDS = "0,3_1,7,11_2,40_1_0,41,55_3,60"
NAMES = "word,gather,rope,moe,lmhead,topk,argsort,allreduce"
# The same and 312 more of each, with names that begin as those of layers do.
SYLLABLES = [consonant + vowel for consonant in "lrmdpf" for vowel in "aeo"]
MANY_IDS = ",".join([IDS, *(f"{number}_{number % 7}" for number in range(100, 412))])
MANY_NAMES = ",".join([NAMES, *["".join(pair) for pair in product(SYLLABLES, repeat=2)][:312]])
# The layers of a model, none of which those terms name, one to three components deep.
UNSELECTED = [
    "1_Prefill_layer",
    "1_Prefill_layer/1_Attention",
    "1_Prefill_layer/1_Attention/0_LinearOperation",
    "12_Decoder_layer",
    "12_Decoder_layer/4_Mlp",
    "12_Decoder_layer/4_Mlp/1_ActivationOperation",
    "28_Decoder_layer",
    "28_Decoder_layer/0_RmsNormOperation",
    "28_Decoder_layer/0_RmsNormOperation/0_RmsNormKernel",
    "33_Decoder_layer/1_Attention/3_FusionAttention",
]
SELECTED = "0_WordEmbedding"
RULES: dict[str, Any] = {
    "task": "tensor",
    "dump_enable": True,
    "exec_range": "all",
    "ids": IDS,
    "op_name": NAMES,
    "save_child": True,
    "device": "",
    "filter_level": 0,
}


@dataclass(frozen=True)
class Scenario:
    """Rules, the executions that are measured under them, and whether SELECTED must be seen to be selected."""

    name: str
    rules: dict[str, Any]
    round: int
    dirs: list[str]
    selects: bool = True
    grants: bool = False
    nested: bool = False


SCENARIOS = [
    Scenario("an operation that nobody wants", RULES, 0, [SELECTED, *UNSELECTED]),
    Scenario("the same, nested as in a model", RULES, 0, [SELECTED, *UNSELECTED], nested=True),
    Scenario("the same with 640 terms", {**RULES, "ids": MANY_IDS, "op_name": MANY_NAMES}, 0, [SELECTED, *UNSELECTED]),
    Scenario("a round out of range", {**RULES, "exec_range": "0,0"}, 5, [SELECTED, *UNSELECTED]),
    Scenario("dumping off", {**RULES, "dump_enable": False}, 0, [SELECTED, *UNSELECTED], selects=False),
    Scenario("an operation that is wanted", RULES, 0, [SELECTED], grants=True),
]


def measure(scenario: Scenario, library: Library) -> float:
    """Return nanoseconds per execution; AssertionError if the answers were not those that are to be measured."""
    with library.environment(scenario.rules) as environment:
        order = "nested" if scenario.nested else "flat"
        command = [
            str(host_program("decision_host")),
            str(MILLISECONDS),
            order,
            "0",
            str(scenario.round),
            *scenario.dirs,
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    granted = 3 * answer["operations"] if scenario.grants else 0
    if (answer["selected"], answer["granted"]) != (scenario.selects, granted):
        raise AssertionError(f"{scenario.name}, {library.name}: {done.stdout}{done.stderr}")
    nanoseconds: float = answer["nanoseconds"]
    return nanoseconds
