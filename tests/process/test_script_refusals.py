"""Where load_atb_probe.sh changes nothing, and that programs it is not meant for do not notice it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bash_session import Installation, assert_nothing_changed, messages


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("unset ASCEND_HOME_PATH", "ASCEND_HOME_PATH"),
        ("ASCEND_HOME_PATH=", "ASCEND_HOME_PATH"),
        ("unset ATB_HOME_PATH", "ATB_HOME_PATH"),
        ("ATB_HOME_PATH=/", "ATB_HOME_PATH"),
        ("ATB_HOME_PATH=/opt/atb", "ATB_HOME_PATH"),
        ("ATB_HOME_PATH=/opt/cxx_abi_2", "ATB_HOME_PATH"),
        ("ATB_HOME_PATH=/opt/cxx_abi_1/lib", "ATB_HOME_PATH"),
        ("ATB_HOME_PATH=/opt/not_cxx_abi_1", "ATB_HOME_PATH"),
    ],
)
def test_without_an_ascend_environment_there_is_one_warning(
    installation: Installation, change: str, named: str
) -> None:
    answer = installation.bash(f'{change}; source "$LOAD" --output=/x; echo $? >&2')
    warning, status = messages(answer)
    assert "warning" in warning
    assert named in warning
    assert status == "0"
    assert_nothing_changed(answer)
    assert installation.watcher_calls() == []


def test_a_missing_library_is_refused(installation: Installation) -> None:
    installation.library(1).unlink()
    answer = installation.bash('source "$LOAD"; echo $? >&2')
    assert messages(answer) == [f"atbprobe: there is no {installation.library(1)}; nothing was changed", "1"]
    assert_nothing_changed(answer)


def test_a_file_that_is_no_library_is_refused(installation: Installation) -> None:
    installation.library(1).write_text("not a library, for all its name")
    answer = installation.bash('source "$LOAD"; echo $? >&2')
    assert "cannot be preloaded" in answer.stderr
    assert_nothing_changed(answer)


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with\ttab"])
def test_a_path_that_ld_preload_cannot_hold_is_refused(installation: Installation, tmp_path: Path, name: str) -> None:
    moved = Installation(installation.prefix.rename(tmp_path / name))
    answer = moved.bash('source "$LOAD"; echo $?; /bin/true', directory=tmp_path)
    assert answer.stdout == "1\n"
    assert "LD_PRELOAD cannot hold" in answer.stderr
    assert answer.probe_variables == {}


@pytest.mark.needs_gcc
def test_a_library_too_new_for_the_c_library_is_refused(installation: Installation, tmp_path: Path) -> None:
    """Linked to a C library that has one version more than the one on this machine."""
    (tmp_path / "c.cpp").write_text('extern "C" int from_the_future() { return 1; }')
    (tmp_path / "c.map").write_text("GLIBC_9.99 { from_the_future; };")
    (tmp_path / "user.cpp").write_text('extern "C" int from_the_future(); int use() { return from_the_future(); }')
    shared = ["g++", "-shared", "-fPIC", "-nostdlib"]
    future = tmp_path / "libfuture.so"
    subprocess.run(
        [*shared, "c.cpp", "-Wl,-soname,libc.so.6", "-Wl,--version-script=c.map", "-o", future],
        cwd=tmp_path,
        check=True,
    )
    subprocess.run([*shared, "user.cpp", future, "-o", installation.library(1)], cwd=tmp_path, check=True)
    answer = installation.bash('source "$LOAD"; echo $?; /bin/true')
    assert "GLIBC_9.99" in answer.stderr
    assert answer.stdout == "1\n"
    assert answer.probe_variables == {}


@pytest.mark.parametrize(
    "program",
    [
        "ls -l /usr",
        "git --version",
        """python3 -c 'import json, sys; json.dump({"a": [1, 2]}, sys.stdout)'""",
        "ls /nonexistent",
        "bash -c 'echo out; echo err >&2; exit 3'",
    ],
)
def test_other_programs_say_the_same_under_preload(installation: Installation, program: str) -> None:
    plain = installation.bash(f"{program}; echo $?")
    probed = installation.bash(f'source "$LOAD" 2>/dev/null; {program}; echo $?')
    assert (probed.stdout, probed.stderr) == (plain.stdout, plain.stderr)
    assert plain.stdout


@pytest.mark.needs_gcc
def test_a_static_program_runs_as_before(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "still.cpp").write_text('#include <cstdio>\nint main() { return std::puts("still") < 0; }')
    subprocess.run(["g++", "-static", "still.cpp", "-o", "still"], cwd=tmp_path, check=True)
    answer = installation.bash(f'source "$LOAD" 2>/dev/null; "{tmp_path}/still"')
    assert (answer.stdout, answer.stderr) == ("still\n", "")
