"""Which Python the scripts find, and what they ask of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from bash_session import PLAIN_ENVIRONMENT, Installation, messages

MATH = "libm.so.6"


def test_the_watcher_is_asked_to_hold_and_to_let_go_of_the_shell(installation: Installation) -> None:
    program = 'echo $BASHPID; source "$LOAD" --config=rules.json; source "$UNLOAD"'
    shell = installation.bash(program, environment={"LD_PRELOAD": MATH}).stdout.strip()
    config = str(installation.prefix / "rules.json")
    watch = ["-m", "atbprobe_rules", "watch", "--config", config]
    held, released = installation.watcher_calls()
    assert held["arguments"] == [*watch, "--hold", shell, "--detach"]
    assert released["arguments"] == [*watch, "--release", shell]
    for call in (held, released):
        assert call["LD_PRELOAD"] == ""
        assert call["directory"] == "/"  # a module in the user's folder must not shadow Python's


def test_a_subshell_holds_for_itself(installation: Installation) -> None:
    answer = installation.bash('source "$LOAD"; (echo $BASHPID; source "$LOAD"; :)')
    assert installation.watcher_calls()[1]["arguments"][-2] == answer.stdout.strip()


def test_what_python_prints_never_reaches_standard_output(installation: Installation) -> None:
    stub = installation.python.read_text()
    installation.python.write_text(f"{stub}print('a word of the watcher', flush=True)\n")
    answer = installation.bash('source "$LOAD"; source "$UNLOAD"')
    assert answer.stdout == ""
    assert answer.stderr.count("a word of the watcher") == 2


def test_a_watcher_that_fails_is_told_and_the_probe_is_loaded(installation: Installation) -> None:
    stub = installation.python.read_text()
    installation.python.write_text(f"{stub}sys.exit(sys.argv[1] == '-m')\n")
    answer = installation.bash('source "$LOAD"; echo $?')
    assert answer.stdout == "0\n"
    assert "no watcher" in answer.stderr
    assert answer.environment["LD_PRELOAD"] == str(installation.library(1))


@pytest.mark.parametrize("name", ["python3.11", "python3", "python"])
def test_python_is_that_of_the_installation(installation: Installation, name: str) -> None:
    installation.python.rename(installation.python.with_name(name))
    installation.bash('source "$LOAD"')
    assert len(installation.watcher_calls()) == 1


def test_a_named_python_wins_even_by_relative_path(installation: Installation, tmp_path: Path) -> None:
    other = Installation(tmp_path / "other")
    other.prefix.mkdir()
    other.write_stub(other.prefix / "my python", sys.executable)
    program = 'ATBPROBE_PYTHON="../other/my python"; source "$LOAD"'  # not exported
    installation.bash(program)
    assert len(other.watcher_calls()) == 1
    assert installation.watcher_calls() == []


def test_python_on_the_path_serves_an_installation_without_one(installation: Installation, tmp_path: Path) -> None:
    installation.python.rename(tmp_path / "python3")
    search_path = f"{tmp_path}:{PLAIN_ENVIRONMENT['PATH']}"
    installation.bash('source "$LOAD"', environment={"PATH": search_path})
    assert len(installation.watcher_calls()) == 1


def test_the_real_interpreter_is_taken_at_the_same_version_only(installation: Installation) -> None:
    """No stub: the interpreter of these tests has the package, and the version is compared."""
    find_only = 'source "$LOAD" 2>&1 | grep -c "ATBPROBE_PYTHON"'
    environment = {"ATBPROBE_PYTHON": sys.executable}
    inner = installation.scripts / "probe_environment.sh"
    text = inner.read_text()
    inner.write_text(text.replace("-m atbprobe_rules watch", "-c pass watch"))
    assert installation.bash(find_only, environment=environment).stdout == "0\n"
    version = next(line for line in text.splitlines() if line.startswith("version="))
    inner.write_text(text.replace(version, "version=0.0.0"))
    assert installation.bash(find_only, environment=environment).stdout == "1\n"


def test_the_real_watcher_comes_with_load_and_goes_with_unload(installation: Installation) -> None:
    """That it has gone afterwards is seen by the hunt for leftovers that follows every test."""
    (installation.prefix / "rules.json").write_text('{"dump_enable": false}')
    program = 'source "$LOAD" --config=rules.json; "$ATBPROBE_PYTHON" -m atbprobe_rules status --json; source "$UNLOAD"'
    answer = installation.bash(program, environment={"ATBPROBE_PYTHON": sys.executable})
    status = json.loads(answer.stdout)
    assert status["config"] == str(installation.prefix / "rules.json")
    assert status["watcher"]["alive"] is True
    assert status["generation"] >= 1
    assert status["rejected"] is None


@pytest.mark.parametrize("named", ["", "/nonexistent/python", "/bin/false"])
def test_without_python_the_probe_is_loaded_and_a_warning_given(installation: Installation, named: str) -> None:
    installation.python.unlink()
    environment = {"ATBPROBE_PYTHON": named, "PATH": "/usr/bin:/bin"}
    answer = installation.bash('source "$LOAD"; echo $?', environment=environment)
    assert answer.stdout == "0\n"
    assert "the rules stay as they are" in messages(answer)[0]
    assert "ATBPROBE_PYTHON" in messages(answer)[0]
    assert answer.environment["LD_PRELOAD"] == str(installation.library(1))
