"""The first calls of a process, made by many threads at the same moment."""

from __future__ import annotations

import pytest
from probed_host import Probed
from threaded_host import DUMP_ALL, assert_round_is_whole, processes_on_disk, run_host

# Those of tests/native/first_setup.cpp.
THREADS = 8
ELEMENTS = 4
PROCESSES = 200


@pytest.mark.parametrize("fork", [(), ("fork",)], ids=["", "fork"])
def test_no_operation_is_lost_at_the_first_setup(probed_either: Probed, fork: tuple[str, ...]) -> None:
    """And a child that is forked at that moment dumps what it runs."""
    probed = probed_either
    probed.publish(DUMP_ALL)
    host = probed.native_file(f"first_setup_abi{probed.abi}")
    pids = set()
    for _ in range(PROCESSES // (2 if fork else 1)):
        refused = run_host(probed, host, *fork)
        assert len(refused) == 1 + len(fork)
        assert set(refused.values()) == {0}
        pids |= set(refused)
    assert processes_on_disk(probed) == {f"0_{pid}" for pid in pids}
    for pid in pids:
        assert_round_is_whole(probed.data / f"0_{pid}" / "0", range(THREADS), ELEMENTS)


@pytest.mark.parametrize("fork", [(), ("fork",)], ids=["", "fork"])
def test_without_a_config_every_thread_is_told_no(probed_either: Probed, fork: tuple[str, ...]) -> None:
    probed = probed_either
    probed.extra_environment["ATB_DUMP_CONFIG"] = ""
    host = probed.native_file(f"first_setup_abi{probed.abi}")
    for _ in range(PROCESSES // 4):
        assert set(run_host(probed, host, *fork).values()) == {2 * THREADS}
    assert not probed.data.exists()
