from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from atbprobe_rules.holds import hold, holders, release
from atbprobe_rules.processes import ProcessName, start_time_of


def this_process() -> ProcessName:
    found = ProcessName.of(os.getpid())
    assert found is not None
    return found


def test_a_hold_lasts_until_it_is_released(tmp_path: Path) -> None:
    hold(tmp_path, this_process())
    hold(tmp_path, this_process())
    assert holders(tmp_path) == [this_process()]
    release(tmp_path, this_process())
    release(tmp_path, this_process())
    assert holders(tmp_path) == []


def test_a_hold_ends_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name = ProcessName.of(child.pid)
        assert name is not None
        hold(tmp_path, name)
        assert holders(tmp_path) == [name]
    assert holders(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_pid_that_was_handed_on_holds_nothing(tmp_path: Path) -> None:
    hold(tmp_path, ProcessName(os.getpid(), this_process().start_time - 1))
    assert holders(tmp_path) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "hold-x-y").touch()
    assert holders(tmp_path) == []
    assert (tmp_path / "hold-x-y").exists()


def test_a_process_is_gone_once_it_has_ended_even_before_it_is_waited_for() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    name = ProcessName.of(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_time_of(child.pid) == 0
    assert name is None or not name.alive
    child.wait()


def test_there_is_no_process_0() -> None:
    assert start_time_of(0) == 0
    assert ProcessName.of(2**22 + 1) is None
