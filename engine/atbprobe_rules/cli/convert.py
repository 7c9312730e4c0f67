"""``atbprobe-rules convert``: the tensors of a dump in a file format of others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted

if TYPE_CHECKING:
    from atbprobe_rules.dump.conversion import Conversion
    from atbprobe_rules.dump.conversion_plan import ConversionPlan


@click.command("convert")
@click.argument("paths", metavar="PATH...", type=click.Path(path_type=Path, readable=False), nargs=-1, required=True)
@click.argument("out", type=click.Path(path_type=Path, readable=False))
@click.option("--to", "wanted", type=click.Choice(["npy", "npz", "safetensors"]), required=True, help="The format.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(paths: tuple[Path, ...], out: Path, wanted: str, as_json: bool) -> ExitCode:
    """Convert the tensors of each PATH (a .bin, a round, a device, a whole dump) to files in the folder OUT.

    \b
    npy          a file for each tensor
    npz          a file for each round; one for all if OUT ends in .npz
    safetensors  a file for each round; one for all if OUT ends in .safetensors

    What a format does not hold becomes a type that has all its values, and that is said. A file that is there already
    and was made from the same tensors is left alone, so a conversion that was stopped goes on where it was.

    Exit code 1: nothing could be converted; 3: some tensors could not.
    """
    from atbprobe_rules.dump.conversion import convert
    from atbprobe_rules.dump.conversion_plan import plan_conversion
    from atbprobe_rules.dump.converted_array import FileFormat

    try:
        plan = plan_conversion(paths, FileFormat(wanted), out)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    done = _convert_with_progress(plan) if sys.stderr.isatty() else convert(plan)
    for problem in done.problems:
        click.echo(f"atbprobe-rules: {problem}", err=True)
    if as_json:
        click.echo(json.dumps(_conversion_json(done, out, wanted)))
    else:
        _print(done)
    if not done.written and not done.skipped:
        click.echo("nothing was converted", err=True)
        return ExitCode.NO
    return ExitCode.INCOMPLETE if done.problems else ExitCode.FINE


def _convert_with_progress(plan: ConversionPlan) -> Conversion:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from atbprobe_rules.dump.conversion import convert

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("tensors", total=plan.source_count)
        return convert(plan, lambda count: progress.advance(task, count))


def _conversion_json(done: Conversion, out: Path, wanted: str) -> dict[str, Any]:
    return {
        "out": str(out),
        "to": wanted,
        "files_written": done.written,
        "files_skipped": done.skipped,
        "tensors": done.tensors,
        "bytes": done.bytes,
        "types": [{"dtype": had, "as": has, "count": count} for (had, has), count in sorted(done.types.items())],
        "problems": [str(problem) for problem in done.problems],
    }


def _print(done: Conversion) -> None:
    from atbprobe_rules.dump.converted_array import is_same_type

    line = f"{counted(done.written, 'file')} written, {counted(done.tensors, 'tensor')}"
    if done.skipped:
        line += f"; {counted(done.skipped, 'file')} left alone, made from the same tensors already"
    click.echo(line)
    for (had, has), count in sorted(done.types.items()):
        if not is_same_type(had, has):
            click.echo(f"{had} as {has}: {counted(count, 'tensor')}")
