"""``atbprobe-rules explain``: what a config selects, before anything runs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from atbprobe_rules.cli.compiled_program import compile_or_tell
from atbprobe_rules.cli.config_option import resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted, restart_command

if TYPE_CHECKING:
    from atbprobe_rules.explain import Explanation, Op
    from atbprobe_rules.program import Program

LINES_SHOWN = 40


@click.command("explain")
@click.argument("config", type=click.Path(path_type=Path, readable=False), required=False)
@click.option(
    "--ops",
    type=click.File("r", encoding="utf-8", errors="surrogateescape"),
    help="A list of ops, one a line: `round<TAB>dir`, or `dir` alone, whose own number is then the round. - is stdin.",
)
@click.option("--program", "show_program", is_flag=True, help="Show the tables that CONFIG is compiled to.")
@click.option("--all", "show_all", is_flag=True, help=f"With --program: all lines, not {LINES_SHOWN} of each table.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each op, or one for the program.")
def command(config: Path | None, ops: TextIO | None, show_program: bool, show_all: bool, as_json: bool) -> ExitCode:
    """Say of each op of a list whether CONFIG selects it, by which rules, and what is kept of its tensors.

    Without CONFIG it is the one that the other commands take. With --program, show instead the tables that decide.

    \b
    A dir is what the host calls an op, as in a dump's folders:
      0_27576/0/2_Prefill_layer/1_Attention        device_pid/round/id_name/id_name...
    """
    if (ops is not None) == show_program:
        raise click.UsageError("say what to explain: --ops or --program")
    if show_all and not show_program:
        raise click.UsageError("--all goes with --program")
    if config is None:
        config = resolve_config(None, "CONFIG")
        _tell_of_dead_watcher(config)
    program = compile_or_tell(config)
    if program is None:
        return ExitCode.NO
    if ops is not None:
        _explain_ops(program, ops, as_json)
    else:
        _explain_program(program, show_all, as_json)
    return ExitCode.FINE


def _tell_of_dead_watcher(config: Path) -> None:
    """What is explained is the file; where its watcher has died, that is not what is in force."""
    from atbprobe_rules.channel import ChannelError
    from atbprobe_rules.watcher_start import dead_watcher

    dead = None
    with contextlib.suppress(ChannelError):  # a damaged channel is no reason not to explain a file
        dead = dead_watcher(config)
    if dead is not None:
        remedy = restart_command(config)
        click.echo(f"the watcher (process {dead.pid}) has died, edits are not seen: `{remedy}`", err=True)


def _explain_ops(program: Program, ops: TextIO, as_json: bool) -> None:
    from atbprobe_rules.explain import explain_ops

    for explanation in explain_ops(program, _read_ops(ops)):
        click.echo(json.dumps(explanation.to_json()) if as_json else _sentence(explanation))


def _explain_program(program: Program, show_all: bool, as_json: bool) -> None:
    from atbprobe_rules.program_description import ProgramDescription
    from atbprobe_rules.program_text import program_tables

    description = ProgramDescription(program)
    if as_json:
        click.echo(json.dumps(description.to_json()))
        return
    most = None if show_all else LINES_SHOWN
    for table in program_tables(description):
        click.echo(table.title)
        for line in table.lines(most):
            click.echo(f"  {line}")
        if most is not None and table.line_count > most:
            click.echo(f"  ... and {counted(table.line_count - most, 'more line')}: --all shows them")


def _read_ops(lines: Iterable[str]) -> Iterator[Op]:
    from atbprobe_rules.explain import Op, OpsError

    for number, line in enumerate(lines, 1):
        try:
            yield Op.from_line(line.rstrip("\r\n"))
        except OpsError as error:
            raise click.UsageError(f"line {number} of the ops: {error}") from None


def _sentence(explanation: Explanation) -> str:
    op = explanation.op
    number = "no round" if op.round is None else f"round {op.round}"
    if not explanation.selected:
        return f"-  {op.dir}  ({number})"
    sides = [
        f"{side}: {'+'.join(tasks)}"
        for side, tasks in (("in", explanation.inputs), ("out", explanation.outputs))
        if tasks
    ]
    rules = [
        name if when is None else f"{name} (when {when})"
        for name, when in zip(explanation.rules, explanation.conditions, strict=True)
    ]
    return f"+  {op.dir}  ({number}; rule {', '.join(rules)}; {'; '.join(sides)})"
