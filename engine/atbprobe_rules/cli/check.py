"""``atbprobe-rules check``: whether configs are taken, and everything that is wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atbprobe_rules.cli.config_option import resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted

if TYPE_CHECKING:
    from atbprobe_rules.config_file import Reading
    from atbprobe_rules.file_check import FileCheck

STDIN = Path("-")


@click.command("check")
@click.argument("configs", metavar="[CONFIG]...", type=click.Path(path_type=Path, readable=False), nargs=-1)
@click.option("--strict", is_flag=True, help="Refuse a config with warnings, too.")
@click.option("--compat", is_flag=True, help="Tell, too, what the published probe makes of the same file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each file.")
def command(configs: tuple[Path, ...], strict: bool, compat: bool, as_json: bool) -> ExitCode:
    """Say of each CONFIG whether it is taken, and show every mistake at its place.

    Without CONFIG it is the one that the other commands take; - is standard input.

    Exit code 0: all are taken; 1: one is refused, or cannot be read.
    """
    from atbprobe_rules.file_check import check_file

    if configs.count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once")
    refused = False
    for config in configs or (resolve_config(None, "CONFIG"),):
        reading, path = _read(config)
        answer = check_file(reading, path, strict=strict, compat=compat)
        refused |= not answer.ok
        if as_json:
            click.echo(json.dumps(answer.to_json()))
        else:
            _print(answer)
    return ExitCode.NO if refused else ExitCode.FINE


def _read(config: Path) -> tuple[Reading, Path]:
    """Return what is there, and what to call it."""
    from atbprobe_rules.check import MAX_BYTES
    from atbprobe_rules.config_file import Reading, read_config_file

    if config == STDIN:
        return Reading(sys.stdin.buffer.read(MAX_BYTES + 1)), Path("<stdin>")
    return read_config_file(config, from_anybody=True), config


def _print(answer: FileCheck) -> None:
    from atbprobe_rules.diagnostics import printable, render_all

    source = answer.checked.source
    if answer.checked.diagnostics:
        click.echo(answer.checked.render(), err=True)
    click.echo(f"{printable(source.filename)}: {_verdict(answer)}")
    if answer.published is not None:
        click.echo(render_all(answer.published.notes, source))


def _verdict(answer: FileCheck) -> str:
    from atbprobe_rules.diagnostics import Severity

    words = ["fine" if answer.ok else "refused"]
    for severity in (Severity.ERROR, Severity.WARNING):
        if answer.count(severity):
            words.append(counted(answer.count(severity), severity.value))
    return ", ".join(words)
