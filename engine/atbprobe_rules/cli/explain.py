"""``atbprobe-rules explain``: what a config selects, before anything runs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from atbprobe_rules.cli.compiled_program import compile_whole_or_tell
from atbprobe_rules.cli.config_option import resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted, restart_command

if TYPE_CHECKING:
    from atbprobe_rules.explanation.report import ConfigReport
    from atbprobe_rules.program import Program

LINES_SHOWN = 40


@click.command("explain")
@click.argument("config", type=click.Path(path_type=Path, readable=False), required=False)
@click.option(
    "--on",
    "sources",
    metavar="SOURCE",
    multiple=True,
    is_flag=False,
    flag_value="",
    help="Which operations there are: a dump, a folder or file of info/, a statistic.csv, a list as for --ops, or "
    "what `ops --json` printed; several may be given. Without SOURCE: the running processes, else what is in "
    "$ATB_OUTPUT_DIR/atb_dump_data.",
)
@click.option("--why", metavar="OP", help="Say of an operation (path, id path or name) which terms match it, and why.")
@click.option(
    "--diff",
    "other",
    metavar="OTHER",
    type=click.Path(path_type=Path, readable=False),
    help="Say which operations another config gains and loses.",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write the tree to a page that needs no network."
)
@click.option(
    "--rounds",
    "run_rounds",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many rounds a run has, to count its bytes.",
)
@click.option("--fail-empty", is_flag=True, help="End with 4 if nothing is selected.")
@click.option(
    "--ops",
    type=click.File("rb"),
    help="A list of ops, one a line: `round<TAB>dir`, or `dir` alone, whose own number is then the round. - is stdin.",
)
@click.option("--program", "show_program", is_flag=True, help="Show the tables that CONFIG is compiled to.")
@click.option("--all", "show_all", is_flag=True, help="All lines and operations, unfolded.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --ops one for each line.")
def command(
    config: Path | None,
    sources: tuple[str, ...],
    why: str | None,
    other: Path | None,
    html: Path | None,
    run_rounds: int | None,
    fail_empty: bool,
    ops: BinaryIO | None,
    show_program: bool,
    show_all: bool,
    as_json: bool,
) -> ExitCode:
    """Say what CONFIG selects: its rules in plain sentences, and with --on which operations, and how many bytes.

    Without CONFIG it is the one that the other commands take. With --ops, answer line by line; with --program, show
    the tables that decide.

    \b
    An operation is called as in a dump's folders, by its ids, or by its name:
      0_27576/0/2_Prefill_layer/1_Attention        device_pid/round/id_name/id_name...
      2_1        attention        prefill_layer/attention
    """
    on_catalogue = bool(sources or why is not None or other or html or run_rounds or (fail_empty and ops is None))
    if (ops is not None) + show_program + on_catalogue > 1 or (show_program and fail_empty):
        raise click.UsageError("--ops, --program, and what is asked of a catalogue go one at a time")
    if sum(option is not None for option in (why, other, html)) > 1:
        raise click.UsageError("--why, --diff and --html go one at a time")
    if show_all and not (show_program or on_catalogue):
        raise click.UsageError("--all goes with --program, and with what is asked of a catalogue")
    if config is None:
        config = resolve_config(None, "CONFIG")
        _tell_of_dead_watcher(config)
    compiled = compile_whole_or_tell(config)
    if compiled is None:
        return ExitCode.NO
    program = compiled.program
    assert program is not None
    if ops is not None:
        return _explain_ops(program, ops, as_json, fail_empty)
    if show_program:
        _explain_program(program, show_all, as_json)
        return ExitCode.FINE
    from atbprobe_rules.cli.explain_on import Question, answer
    from atbprobe_rules.explanation.report import ConfigReport

    report = ConfigReport(compiled.checked, program)
    if on_catalogue:
        return answer(Question(report, sources, run_rounds, show_all, as_json, fail_empty), why, other, html)
    _explain_config(report, as_json)
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


def _explain_config(report: ConfigReport, as_json: bool) -> None:
    from atbprobe_rules.cli.selection_text import config_lines

    if as_json:
        click.echo(json.dumps(report.to_json()))
        return
    for line in config_lines(report):
        click.echo(line)


def _explain_ops(program: Program, ops: BinaryIO, as_json: bool, fail_empty: bool) -> ExitCode:
    from atbprobe_rules.explanation.line_answers import answer_lines
    from atbprobe_rules.op_lines import OpsError, read_op_lines

    any_selected = False
    try:
        for answers in answer_lines(program, read_op_lines(ops)):
            any_selected = any_selected or any(answers.selected)
            click.echo(answers.json_lines() if as_json else answers.text_lines(), nl=False)
    except OpsError as error:
        raise click.UsageError(str(error)) from None
    return ExitCode.NOTHING_SELECTED if fail_empty and not any_selected else ExitCode.FINE


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
