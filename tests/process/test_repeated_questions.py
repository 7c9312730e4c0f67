"""A thread remembers the last round and the last directory it was asked about: never for longer than they hold."""

from __future__ import annotations

from typing import Any

import pytest
from probed_host import ProbeCaller, Probed

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
