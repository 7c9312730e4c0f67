"""A bash that shows what is typed into it: the demo does everything as a user would."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from types import FrameType, TracebackType
from typing import Any

import click

from atbprobe_rules.errors import AtbprobeError


class DemoShell:
    """One bash, its commands echoed behind a prompt and its output indented.

    It is in a session of its own, so that Ctrl-C is the demo's to deal with; what it has started ends with it.
    """

    def __init__(self, environment: dict[str, str], folder: str) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )

    def __enter__(self) -> DemoShell:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGTERM)
        assert self._bash.stdin is not None and self._bash.stdout is not None, "both are pipes"
        with contextlib.suppress(BrokenPipeError):
            self._bash.stdin.close()
        self._bash.wait()
        self._bash.stdout.close()

    def type(self, command: str, status: int = 0) -> list[str]:
        """Show `command`, run it, show and return what it says; raises AtbprobeError unless it ends with `status`."""
        click.secho(f"  $ {command}", bold=True)
        lines = self.ask(command, status)
        for line in lines:
            click.echo(f"    {line}")
        return lines

    def ask(self, command: str, status: int = 0) -> list[str]:
        """Run `command` without a word and return the lines that it wrote; AtbprobeError as in `type`."""
        assert self._bash.stdin is not None and self._bash.stdout is not None, "both are pipes"
        mark = secrets.token_hex(8)
        self._bash.stdin.write(f"{command}\nprintf '\\n{mark} %s\\n' $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(mark):
                found = line.split()[1]
                if lines and lines[-1] == "":
                    lines.pop()
                if found != str(status):
                    told = "\n".join(lines)
                    raise AtbprobeError(f"the demo's shell failed at `{command}` (exit code {found})\n{told}")
                return lines
            lines.append(line.rstrip("\n"))
        raise AtbprobeError(f"the demo's shell ended at `{command}`")


def end_as_interrupted_on(*signals: signal.Signals) -> None:
    """Let these signals do what Ctrl-C does, so that everything that was started is ended."""

    def interrupt(_number: int, _frame: FrameType | None) -> Any:
        raise KeyboardInterrupt

    for number in signals:
        signal.signal(number, interrupt)
