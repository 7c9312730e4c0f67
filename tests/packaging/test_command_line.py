"""The frame of the command line: help texts, exit codes, and that asking for help is quick."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import click
import pytest

from atbprobe_rules.cli import main
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.errors import AtbprobeError, IncompleteError

HELP_TEXTS = Path(__file__).parent / "help"


@pytest.mark.parametrize("command", ["atbprobe-rules", *main.COMMANDS])
def test_help_is_as_stored(command: str) -> None:
    """A change of a help text is seen in review. ATBPROBE_UPDATE_HELP=1 stores the new ones."""
    words = [] if command == "atbprobe-rules" else [command]
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", *words, "--help"],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    stored = HELP_TEXTS / f"{command}.txt"
    if os.environ.get("ATBPROBE_UPDATE_HELP"):
        stored.write_text(done.stdout)
    assert stored.is_file(), f"no {stored}: run this test with ATBPROBE_UPDATE_HELP=1"
    assert done.stdout == stored.read_text()


def test_no_help_text_is_stored_without_its_command() -> None:
    assert {path.stem for path in HELP_TEXTS.iterdir()} == {"atbprobe-rules", *main.COMMANDS}


@pytest.mark.parametrize("name", main.COMMANDS)
def test_a_command_has_the_name_it_is_listed_by(name: str) -> None:
    command = import_module(f"atbprobe_rules.cli.{main.COMMANDS[name].module}").command
    assert command.name == name
    assert main.COMMANDS[name].summary.endswith(".")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from atbprobe_rules.cli.main import run; run(['--help']);"
        "heavy = {'numpy', 'ml_dtypes', 'safetensors', 'lark', 'watchdog', 'rich', 'ctypes'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("words", [["--version"], ["-h"], ["scripts", "-h"], ["scripts"]])
def test_answers_end_with_0(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main.run(words) == ExitCode.FINE
    answer = capfd.readouterr()
    assert answer.out
    assert answer.err == ""


@pytest.mark.parametrize("words", [[], ["no"], ["--no"], ["lib"], ["lib", "--abi", "2"], ["scripts", "x"]])
def test_wrong_usage_ends_with_2_and_says_so_on_standard_error(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) == ExitCode.USAGE
    answer = capfd.readouterr()
    assert answer.out == ""
    assert "Usage: atbprobe-rules" in answer.err


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (None, 0, ""),
        (ExitCode.NO, 1, ""),
        (ExitCode.NOTHING_SELECTED, 4, ""),
        (AtbprobeError("no such thing"), 1, "atbprobe-rules: no such thing\n"),
        (IncompleteError("half is missing"), 3, "atbprobe-rules: half is missing\n"),
        (
            FileNotFoundError(2, "No such file or directory", "rules.json"),
            1,
            "atbprobe-rules: rules.json: No such file or directory\n",
        ),
        (OSError("disk on fire"), 1, "atbprobe-rules: disk on fire\n"),
        (click.BadParameter("not a number"), 2, "Error: Invalid value: not a number\n"),
        (click.ClickException("could not"), 1, "Error: could not\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
    ],
)
def test_every_outcome_has_its_exit_code(
    outcome: BaseException | ExitCode | None,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    @click.command("try")
    def command() -> ExitCode | None:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    module = types.ModuleType("atbprobe_rules.cli.trial")
    module.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(main.COMMANDS, "try", main.CommandPlace("trial", "Try an outcome."))
    assert main.run(["try"]) == code
    assert capfd.readouterr().err.endswith(said)
    assert capfd.readouterr().out == ""


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("try")
    def command() -> None:
        raise ZeroDivisionError

    module = types.ModuleType("atbprobe_rules.cli.trial")
    module.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(main.COMMANDS, "try", main.CommandPlace("trial", "Try an outcome."))
    with pytest.raises(ZeroDivisionError):
        main.run(["try"])


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "atbprobe_rules", "scripts"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (ExitCode.NO, "")
