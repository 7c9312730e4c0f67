"""A thread remembers the round and the directories it was asked about: never for longer than they hold."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from probed_host import ProbeCaller, Probed

from atbprobe_rules.check import check_config
from atbprobe_rules.decide import decide

LAYER = "0_1/0/0_WordEmbedding"
# A layer's directory with a component that is longer than what is remembered.
LONG = f"0_1/0/0_{'Layer' * 60}"


def rules(**fields: Any) -> dict[str, Any]:
    return {"dump_enable": True, "exec_range": "all", "save_child": True, **fields}


def is_selected(host: ProbeCaller, directory: str, number: int = 0) -> bool:
    """Ask as a runner does before its operation, and leave it there."""
    in_round = host.call("IsExecuteCountInRange", number)
    return bool(in_round and host.call("IsSaveTensorInSpecificDir", directory))


@pytest.mark.parametrize("directory", [LAYER, LONG])
def test_the_same_question_under_new_rules(probed: Probed, directory: str) -> None:
    probed.publish(rules(ids="1"))
    with probed.caller() as host:
        for ids, expected in (("1", False), ("0", True), ("1", False), ("0,1", True)):
            probed.publish(rules(ids=ids))
            assert [is_selected(host, directory) for _ in range(3)] == [expected] * 3


@pytest.mark.parametrize("directory", [LAYER, LONG])
def test_the_same_directory_in_other_rounds(probed: Probed, directory: str) -> None:
    probed.publish(rules(exec_range="1,1,3,3"))
    with probed.caller() as host:
        assert [is_selected(host, directory, number) for number in (0, 1, 1, 2, 2, 3, 1, 0)] == [
            number in (1, 3) for number in (0, 1, 1, 2, 2, 3, 1, 0)
        ]


def test_directories_that_differ_in_little(probed: Probed) -> None:
    probed.publish(rules(ids="1"))
    with probed.caller() as host:
        for directory in ("0_1/0/0_Layer", "0_1/0/1_Layer", "0_1/0/0_Layer", "0_1/0/1_Laye", "0_1/0/1", "", "0_1/0/1_"):
            assert is_selected(host, directory) == directory.startswith("0_1/0/1_"), directory


COMPONENTS = [
    "0_a",
    "0_ab",
    "1_a",
    "1_b",
    "11_a",
    "1_A",
    "01_a",
    "a",
    "",
    "_",
    "1_",
    "0_" + "a" * 100,
    "1_b" + "b" * 240,
]
PATH_TERMS = ",".join(f"a/{'b' * count},b/{'a' * count}" for count in range(1, 20))


@pytest.mark.parametrize(
    "fields",
    [
        {"ids": "1,0_1,0_0_0_1,11_1"},
        {"ids": "0_1,1_1", "save_child": False},
        {"op_name": "ab,1"},
        {"op_name": "a/b,b/a/a,ab/1"},
        {"op_name": "a/b/a", "ids": "11", "save_child": False, "device": "0"},
        {"op_name": PATH_TERMS, "ids": "0_0_1"},
    ],
    ids=["ids", "ids alone", "names", "path terms", "both, one device", "more path terms than are remembered"],
)
def test_directories_in_any_order(probed: Probed, fields: dict[str, Any]) -> None:
    """Up, down and aside, deeper and longer than what is remembered: as if each was the first one."""
    source = random.Random(repr(fields))
    config = rules(**fields)
    selection = check_config(json.dumps(config).encode(), "config.json").require()
    directories = []
    path: list[str] = []
    for _ in range(2000):
        del path[source.randint(0, len(path)) :]
        path += source.choices(COMPONENTS, k=source.choice([0, 1, 1, 1, 2, 3, 12]))
        head = source.choice(["0_1", "0_1", "0_1", "0_1", "1_1", "x"])
        directories.append("/".join([head, source.choice(["0", "0", "0", "10"]), *path]))
    probed.publish(config)
    with probed.caller() as host:
        questions = [
            question
            for directory in directories
            for question in ((0, "IsExecuteCountInRange", [0]), (0, "IsSaveTensorInSpecificDir", [directory]))
        ]
        answers = host.call_all(questions)[1::2]
    expected = [decide(selection, 0, directory).in_specific_dir for directory in directories]
    assert answers == expected
    assert 10 < sum(expected) < 1900


def test_another_thread_remembers_for_itself(probed: Probed) -> None:
    probed.publish(rules(ids="0"))
    with probed.caller() as host:
        for thread in (0, 1, 2, 1, 0):
            assert host.call("IsExecuteCountInRange", 0, thread=thread)
            assert host.call("IsSaveTensorInSpecificDir", LAYER, thread=thread)
        probed.publish(rules(ids="7"))
        for thread in (2, 0, 1):
            assert host.call("IsExecuteCountInRange", 0, thread=thread)
            assert not host.call("IsSaveTensorInSpecificDir", LAYER, thread=thread)
