"""``atbprobe-rules compare``: two dumps side by side, and the operation at which they begin to differ."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atbprobe_rules.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from atbprobe_rules.compare.comparison import Comparison, Progress
    from atbprobe_rules.compare.number_map import NumberMap
    from atbprobe_rules.dump.tree import Dump

RESULT_NAME = "compare_result"


@click.command("compare")
@click.argument("golden", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("target", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"Write {RESULT_NAME}.csv, .xlsx and .html to DIR, which is made if need be.",
)
@click.option(
    "--map",
    "map_file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    help='Other numbers in TARGET: {"ops": {"2-33": "3-34"}, "rounds": {"0": "5"}, "devices": {"0": "4"}}.',
)
@click.option(
    "--threshold",
    "settings",
    metavar="[DTYPE:]MEASURE=VALUE",
    multiple=True,
    help="How far apart still counts as equal: float16:distance=0.01, cosine=0.999, peak=off. Can be given again.",
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Threads to use; default: one for each core.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with everything.")
def command(
    golden: Path,
    target: Path,
    output: Path | None,
    map_file: Path | None,
    settings: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
) -> ExitCode:
    """Compare two dumps, and name the first operation in the order of execution that differs.

    GOLDEN and TARGET are folders atb_dump_data, single devices of them (0_1234), or single rounds. Tensors belong
    together by id path, input or output, and number; names do not count.

    \b
    Measures: distance, peak, absolute, relative, cosine, within_1000th, within_200th.
    Exit code 0: equal within the thresholds; 1: something differs; 3: one side lacks tensors, or some cannot be read.
    """
    from atbprobe_rules.compare.comparison import compare_dumps
    from atbprobe_rules.compare.matching import UnlikePartsError
    from atbprobe_rules.compare.thresholds import ThresholdError, Thresholds
    from atbprobe_rules.compare.workers import available_cores

    try:
        thresholds = Thresholds(settings)
    except ThresholdError as error:
        raise click.UsageError(f"--threshold: {error}") from None
    numbers = _read_map(map_file)
    dumps = [_open(golden), _open(target)]
    with _progress() as progress:
        try:
            comparison = compare_dumps(
                *dumps,
                numbers=numbers,
                thresholds=thresholds,
                workers=available_cores() if jobs is None else jobs,
                progress=progress,
            )
        except UnlikePartsError as error:
            raise click.UsageError(str(error)) from None
    written = [] if output is None else _write_reports(comparison, output)
    if as_json:
        from atbprobe_rules.compare.description import describe

        click.echo(json.dumps(describe(comparison)))
    else:
        from atbprobe_rules.cli.compare_text import print_comparison

        print_comparison(comparison, written)
    if comparison.differs:
        return ExitCode.NO
    return ExitCode.INCOMPLETE if comparison.is_incomplete else ExitCode.FINE


def _read_map(path: Path | None) -> NumberMap | None:
    from atbprobe_rules.compare.number_map import NumberMap, NumberMapError

    if path is None:
        return None
    try:
        with click.open_file(str(path), "rb") as file:
            return NumberMap.parse(file.read())
    except NumberMapError as error:
        raise click.UsageError(f"--map: {path}: {error}") from None


def _open(path: Path) -> Dump:
    from atbprobe_rules.dump.dump_error import DumpError
    from atbprobe_rules.dump.open_dump import open_dump

    try:
        return open_dump(path.absolute())
    except DumpError as error:
        raise click.UsageError(str(error)) from None


def _write_reports(comparison: Comparison, folder: Path) -> list[Path]:
    from atbprobe_rules.compare.csv_report import write_csv
    from atbprobe_rules.compare.html_report import write_html
    from atbprobe_rules.compare.result_table import ResultTable
    from atbprobe_rules.compare.xlsx_report import write_xlsx

    folder.mkdir(parents=True, exist_ok=True)
    table = ResultTable(comparison)
    paths = [folder / f"{RESULT_NAME}{suffix}" for suffix in (".csv", ".xlsx", ".html")]
    write_csv(table, paths[0])
    write_xlsx(table, paths[1])
    write_html(comparison, paths[2])
    return paths


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():  # before anything is imported for it
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TextColumn("tensors"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
