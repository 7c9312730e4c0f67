"""Processes that fork while they dump: parent and child each keep their own, whole."""

from __future__ import annotations

import pytest
from probed_host import Probed
from threaded_host import DUMP_ALL, assert_round_is_whole, processes_on_disk, run_host

# Those of tests/native/fork_while_saving.cpp.
THREADS = 4
TENSORS = 300
ELEMENTS = 4096
# Processes that save, and the rounds of each.
ROUNDS = {"save": [1, THREADS], "exit": [THREADS], "exec": [THREADS], "fork": [1, 2, THREADS]}


@pytest.mark.parametrize("queue", ["", "200000", "0"], ids=["queue", "full queue", "no queue"])
@pytest.mark.parametrize("child", ROUNDS)
@pytest.mark.parametrize("thread", ["main", "thread"])
def test_fork_while_threads_save(probed: Probed, thread: str, child: str, queue: str) -> None:
    """With a single writer, for four threads, there are always tensors waiting."""
    probed.extra_environment = {"ATBPROBE_WRITERS": "1", "ATBPROBE_QUEUE_BYTES": queue}
    probed.publish(DUMP_ALL)
    rounds = run_host(probed, probed.native_file("fork_while_saving"), thread, child)
    assert sorted(rounds.values()) == ROUNDS[child]
    assert processes_on_disk(probed) == {f"0_{pid}" for pid in rounds}
    for pid, count in rounds.items():
        for number in range(count):
            assert_round_is_whole(probed.data / f"0_{pid}" / str(number), range(TENSORS), ELEMENTS)


def test_many_forks_while_threads_save(probed: Probed) -> None:
    """Whatever the other threads are in the middle of."""
    probed.publish({**DUMP_ALL, "task": "statistics"})
    host = probed.native_file("fork_while_saving")
    for _ in range(10):
        rounds = run_host(probed, host, "thread", "save")
        for pid, count in rounds.items():
            assert {path.name for path in (probed.data / f"0_{pid}").glob("[0-9]*")} == set(map(str, range(count)))
