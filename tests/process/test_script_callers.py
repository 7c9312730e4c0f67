"""The scripts in shells with habits of their own, all of which must find themselves unchanged."""

from __future__ import annotations

import subprocess

import pytest
from bash_session import ASCEND_ENVIRONMENT, PLAIN_ENVIRONMENT, Installation

SHADOWED = "eval printf export unset return readlink command true env read shift set local say"
RC_FILE = "echo 'echo shadowed' >rc; export BASH_ENV=$PWD/rc"
HABITS = {
    "plain": "",
    "strict": "set -eu -o pipefail",
    "separators": "IFS=/._",
    "no globbing, no clobbering": "set -fC; shopt -s failglob",
    "null globbing": "shopt -s nullglob nocasematch extglob",
    "posix": "set -o posix",
    "exports everything": "set -a",
    "traps": "trap 'echo shadowed' ERR; trap ':' EXIT",
    "read-only": "readonly ATB_HOME_PATH ASCEND_HOME_PATH HOME here=1 version=2 library=3 action=4",
    "functions": f'for name in {SHADOWED}; do \\builtin eval "$name() {{ \\builtin echo shadowed; }}"; done',
    "exported functions": "printf() { \\builtin echo shadowed; }; cd() { :; }; export -f printf cd",
    "aliases": f"shopt -s expand_aliases; for n in builtin {SHADOWED}; do alias $n='echo shadowed'; done",
    "environment of bash": f"{RC_FILE} CDPATH=/ SHELLOPTS GLOBIGNORE='*'",
    "an odd PATH": "PATH=/usr/bin:/bin:",
}
# Everything a script can leave behind, without what bash itself changes from line to line.
STATE = r"""
state() {
    \builtin declare -p | /usr/bin/grep -vE '^declare -[^ ]+ (_|BASH_[A-Z]+|BASHPID|EPOCH[A-Z]+)(=|$)' |
        /usr/bin/grep -vE '^declare -[^ ]+ (DIRSTACK|FUNCNAME|LINENO|PIPESTATUS|S?RANDOM|SECONDS)(=|$)' |
        /usr/bin/grep -vE '^declare -[^ ]+ (LD_PRELOAD|ATB_OUTPUT_DIR|ATB_DUMP_CONFIG)='
    \builtin declare -F; \builtin shopt -p; \builtin shopt -po; \builtin alias; \builtin trap; \builtin pwd
    \builtin printf '<%s>' "$@"
}
"""


@pytest.mark.parametrize("habit", HABITS)
def test_nothing_is_left_behind_in_the_callers_shell(installation: Installation, habit: str) -> None:
    program = f"""{STATE}
    {HABITS[habit]}
    state "$@" >before || :
    source "$LOAD"
    state "$@" >after || :
    /usr/bin/env -0 >loaded
    source "$UNLOAD"
    """
    answer = installation.bash(program, "a b", "*", "--verbose")
    loaded = (installation.prefix / "loaded").read_text()
    assert f"LD_PRELOAD={installation.library(1)}\0" in loaded
    assert (installation.prefix / "after").read_text() == (installation.prefix / "before").read_text()
    assert (answer.status, answer.probe_variables) == (0, {})
    assert "shadowed" not in answer.stdout + answer.stderr


def test_variables_of_the_shell_need_not_be_exported(installation: Installation) -> None:
    program = 'export -n ATB_HOME_PATH ASCEND_HOME_PATH; source "$LOAD"'
    assert installation.bash(program).probe_variables["LD_PRELOAD"] == str(installation.library(1))


def test_a_refusal_ends_a_strict_shell_and_a_warning_does_not(installation: Installation) -> None:
    refused = installation.bash('set -e; source "$LOAD" --confg=x; echo still here')
    assert (refused.status, refused.stdout) == (1, "")
    warned = installation.bash('set -e; unset ASCEND_HOME_PATH; source "$LOAD"; echo still here')
    assert (warned.status, warned.stdout) == (0, "still here\n")


@pytest.mark.parametrize("name", ["load", "unload"])
def test_running_instead_of_sourcing_is_answered(installation: Installation, name: str) -> None:
    script = getattr(installation, name)
    answer = installation.bash(f'bash "{script}"; echo $?')
    assert answer.stdout == "1\n"
    assert f"source {script}" in answer.stderr


@pytest.mark.parametrize("name", ["LOAD", "UNLOAD"])
def test_a_shell_that_is_not_bash_is_told(installation: Installation, name: str) -> None:
    answer = installation.bash(f'. "${name}" || echo refused', command=("dash",))
    assert answer.stdout == "refused\n"
    assert "bash" in answer.stderr
    assert answer.probe_variables == {}


def test_an_interactive_shell(installation: Installation) -> None:
    program = 'alias export=false cp="cp -i"; PS1=; source "$LOAD" --output=/x; echo "$ATB_OUTPUT_DIR $?"; exit'
    done = subprocess.run(
        ["bash", "--norc", "-i"],
        input=f"{program}\n",
        env={**PLAIN_ENVIRONMENT, **ASCEND_ENVIRONMENT, "LOAD": str(installation.load)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "/x 0\n"
