"""The entry point: finds the subcommand, runs it, and turns what it raises into an exit code.

A subcommand's module is imported only when it is the one to run, so ``--help`` and the load script start
quickly. A new subcommand is one line in COMMANDS. Its function returns an ExitCode, or None for FINE.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NamedTuple, NoReturn

import click

from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.errors import AtbprobeError, IncompleteError


class CommandPlace(NamedTuple):
    """The module in ``atbprobe_rules.cli`` whose ``command`` it is, and its line in ``--help``."""

    module: str
    summary: str


COMMANDS = {
    "check": CommandPlace("check", "Say whether configs are taken, and what is wrong with them."),
    "explain": CommandPlace("explain", "Say which operations a config selects."),
    "watch": CommandPlace("watch", "Publish a config's rules whenever it changes."),
    "show": CommandPlace("show", "Show what is in a dump, a part of it, or a tensor."),
    "convert": CommandPlace("convert", "Convert the tensors of a dump to npy, npz or safetensors."),
    "compare": CommandPlace("compare", "Say where two dumps begin to differ."),
    "status": CommandPlace("status", "Show the rules in force and the processes that have them."),
    "ops": CommandPlace("ops", "List the operations that the running processes execute."),
    "wait": CommandPlace("wait", "Wait until an edit has been taken everywhere."),
    "run": CommandPlace("run", "Run one command with the probe loaded."),
    "compile": CommandPlace("compile", "Compile rules to a file, for machines without Python."),
    "stop": CommandPlace("stop", "End the watcher of a config."),
    "demo": CommandPlace("demo", "Dump from a small model on the CPU, changing the rules while it runs."),
    "lib": CommandPlace("lib", "Print the path of the library to preload."),
    "scripts": CommandPlace("scripts", "Print the folder of the scripts to source."),
}


class LazyGroup(click.Group):
    """A click group that knows its commands by COMMANDS and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        command = import_module(f"atbprobe_rules.cli.{place.module}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in COMMANDS.items()])


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # a fifth of what everything else here takes to import

        click.echo(f"atbprobe-rules {metadata.version('atbprobe-rules')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def atbprobe_rules() -> None:
    """Decide, while a model runs, which Ascend Transformer Boost operations are dumped.

    \b
    Exit codes: 0 fine; 1 no (refused, differs, timed out); 2 wrong usage;
    3 something was lost or is incomplete; 4 nothing selected; 130 interrupted.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    # Names of operations and paths may hold any bytes, and leave as they came.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="surrogateescape")
    try:
        returned = atbprobe_rules.main(arguments, prog_name="atbprobe-rules", standalone_mode=False)
        if sys.stdout is not None:  # it may be closed
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE if isinstance(error, click.UsageError) else ExitCode.NO
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Whoever read the answer has gone, as `head` does (click makes that a SystemExit): no message, nor
        # one from the interpreter at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.NO
    except (AtbprobeError, OSError) as error:
        click.echo(f"atbprobe-rules: {_described(error)}", err=True)
        return ExitCode.INCOMPLETE if isinstance(error, IncompleteError) else ExitCode.NO
    return ExitCode.FINE if returned is None else int(returned)


def _described(error: AtbprobeError | OSError) -> str:
    if isinstance(error, OSError) and isinstance(error.filename, (str, bytes)) and error.strerror is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def main() -> NoReturn:
    """Run this process's command line and exit."""
    sys.exit(run())
