"""The part of ``atbprobe-rules explain`` that asks a catalogue: --on, --why, --diff, --html."""

from __future__ import annotations

import contextlib
import gc
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from atbprobe_rules.catalogue.ops import Catalogue
from atbprobe_rules.catalogue.sources import SourceError, output_folder, read_catalogue
from atbprobe_rules.cli.compiled_program import compile_whole_or_tell
from atbprobe_rules.cli.config_option import absolute_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.selection_text import config_lines, selection_lines
from atbprobe_rules.cli.why_text import diff_lines, why_lines
from atbprobe_rules.cli.words import counted
from atbprobe_rules.explanation.config_diff import ConfigDiff
from atbprobe_rules.explanation.named_ops import catalogue_of_word, find_ops
from atbprobe_rules.explanation.report import ConfigReport, SelectionReport
from atbprobe_rules.explanation.why import OpVerdict, explain_op
from atbprobe_rules.op_lines import OpsError
from atbprobe_rules.whole_file import write_whole_file

ANSWERS_SHOWN = 5
SECONDS_TO_LIST = 10.0
_FOR_OTHERS = 0o666  # as far as the umask lets them


@dataclass(frozen=True)
class Question:
    """What the options of the command line say, whichever answer is wanted."""

    config: ConfigReport
    sources: tuple[str, ...]
    run_rounds: int | None
    show_all: bool
    as_json: bool
    fail_empty: bool

    def report(self, catalogue: Catalogue) -> SelectionReport:
        """Put the config to a catalogue."""
        return SelectionReport(self.config, catalogue, self.run_rounds)

    def exit_code(self, anything_selected: bool) -> ExitCode:
        """Return 4 where that was asked for."""
        return ExitCode.NOTHING_SELECTED if self.fail_empty and not anything_selected else ExitCode.FINE


def answer(question: Question, why: str | None, other: Path | None, html: Path | None) -> ExitCode:
    """Print the answer; at most one of the last three is given."""
    with _nothing_is_garbage():
        return _answer(question, why, other, html)


@contextlib.contextmanager
def _nothing_is_garbage() -> Iterator[None]:
    """The objects of a catalogue all live until the end; looking for garbage among them took a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _answer(question: Question, why: str | None, other: Path | None, html: Path | None) -> ExitCode:
    if why is not None:
        return _why(question, why)
    catalogue = catalogue_of(question)
    if other is not None:
        return _diff(question, catalogue, other)
    report = question.report(catalogue)
    if html is not None:
        return _html(question, report, html)
    if question.as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _print(config_lines(report.config))
        _print(selection_lines(report, question.show_all))
    return question.exit_code(report.decided.count > 0)


def catalogue_of(question: Question) -> Catalogue:
    """Read what --on names; without a name, ask the running processes, else read what they have written."""
    named = [source for source in question.sources if source]
    if not named:
        running = _running(Path(question.config.source.filename))
        if running is not None:
            return running
        if not output_folder().is_dir():
            nothing = f"no process is running and there is no {output_folder()}"
            raise click.UsageError(f"no operations are known: {nothing}; name a source with --on")
        named = [str(output_folder())]
    try:
        return read_catalogue(named)
    except (SourceError, OpsError) as error:
        raise click.UsageError(str(error)) from None


def _running(config: Path) -> Catalogue | None:
    """Ask the processes that follow this config, or else the one of this environment; None if there are none."""
    from atbprobe_rules.catalogue.running import catalogue_of_listing
    from atbprobe_rules.channel import Channel, ChannelError, channel_folder
    from atbprobe_rules.listing.processes import list_ops

    followed = os.environ.get("ATB_DUMP_CONFIG")
    for path in dict.fromkeys([absolute_config(config), *([absolute_config(Path(followed))] if followed else [])]):
        try:
            with Channel.attach(channel_folder(str(path))) as channel:
                listing = list_ops(channel, 1, SECONDS_TO_LIST)
        except FileNotFoundError:
            continue
        except ChannelError as error:
            click.echo(f"the running processes cannot be asked: {error}", err=True)
            continue
        if listing.ops:
            return catalogue_of_listing(listing)
        for process in listing.processes:
            click.echo(f"process {process.pid} has listed no operation within {SECONDS_TO_LIST:g} s", err=True)
    return None


def _why(question: Question, word: str) -> ExitCode:
    named = catalogue_of_word(word)
    has_source = bool(question.sources) or output_folder().is_dir()
    catalogue = catalogue_of(question) if has_source else named
    if catalogue is None:
        raise click.UsageError(
            f"{word!r} is no path of an operation; to find it by ids or name, name a source with --on"
        )
    found = find_ops(catalogue, word)
    if not found and named is not None:
        catalogue, found = named, find_ops(named, word)
        click.echo(f"{word} is not among the known operations: this is what would be said of it", err=True)
    if not found:
        raise click.ClickException(f"no operation is called {word!r} among {len(catalogue):,}")
    report = question.report(catalogue)
    answers = _grouped(report, found)
    if question.as_json:
        verdicts = [{**verdict.to_json(report.config.source), "alike": alike} for verdict, alike in answers]
        click.echo(json.dumps({"config": report.config.source.filename, "op": word, "answers": verdicts}))
    else:
        shown = answers if question.show_all else answers[:ANSWERS_SHOWN]
        for verdict, alike in shown:
            _print(why_lines(verdict, alike, report.config.source))
        if len(answers) > len(shown):
            click.echo(f"... and {len(answers) - len(shown):,} more answers: --all shows them")
    return question.exit_code(any(verdict.selected for verdict, _ in answers))


def _grouped(report: SelectionReport, found: list[int]) -> list[tuple[OpVerdict, int]]:
    """Return the different answers, each with the number of further ops that get the same."""
    first: dict[tuple[int, tuple[bool, ...]], int] = {}
    alike: dict[int, int] = {}
    for index in found:
        key = (int(report.decided.rules[index]), tuple(report.matches.of_op(index)))
        representative = first.setdefault(key, index)
        alike[representative] = alike.get(representative, -1) + 1
    selection = report.config.selection
    return [(explain_op(selection, report.decided, report.matches, index), more) for index, more in alike.items()]


def _diff(question: Question, catalogue: Catalogue, other: Path) -> ExitCode:
    compiled = compile_whole_or_tell(other)
    if compiled is None or compiled.program is None:
        return ExitCode.NO
    after = SelectionReport(ConfigReport(compiled.checked, compiled.program), catalogue, question.run_rounds)
    diff = ConfigDiff(question.report(catalogue), after)
    if question.as_json:
        click.echo(json.dumps(diff.to_json()))
    else:
        _print(diff_lines(diff, question.show_all))
    return question.exit_code(after.decided.count > 0)


def _html(question: Question, report: SelectionReport, html: Path) -> ExitCode:
    from atbprobe_rules.explanation.page import selection_page

    write_whole_file(html, selection_page(report).encode(), mode=_FOR_OTHERS)
    counts = f"{report.decided.count:,} of {counted(len(report.catalogue), 'operation')} selected"
    if question.as_json:
        found = {"html": str(html), "operations": len(report.catalogue), "selected": report.decided.count}
        click.echo(json.dumps(found))
    else:
        click.echo(f"{html}: {counts}")
    return question.exit_code(report.decided.count > 0)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)
