"""``atbprobe-rules show``: what is in a dump, in a part of it, or in one of its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atbprobe_rules.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from atbprobe_rules.dump.dump_error import DumpError
    from atbprobe_rules.dump.statistic_file import AnomalyRow
    from atbprobe_rules.dump.tree import Dump

ROWS_SHOWN = 40
ROUNDS_SHOWN = 40


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path, readable=False))
@click.option("--all", "show_all", is_flag=True, help="Leave nothing out: all rows, rounds and operations.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: Path, show_all: bool, as_json: bool) -> ExitCode:
    """Show what is in PATH: a .bin, a statistic.csv or anomaly.csv, a round, a device, or a whole dump.

    \b
    Of a tensor: type, shape, statistics, where it is not finite, first and last values, a histogram.
    Of a dump: devices, rounds and operations with their tensors, bytes, and what is not finite or missing.

    Exit code 1: PATH cannot be read or is damaged; 3: a part of it cannot be read, or is missing.
    """
    if path.is_dir():
        from atbprobe_rules.dump.open_dump import open_dump

        return _show_dump(open_dump(path), show_all, as_json)
    if path.suffix == ".csv":
        return _show_rows(path, show_all, as_json)
    return _show_tensor(path, as_json)


def _show_tensor(path: Path, as_json: bool) -> ExitCode:
    from atbprobe_rules.cli.tensor_text import tensor_json, tensor_lines
    from atbprobe_rules.dump.tensor import load
    from atbprobe_rules.dump.tensor_summary import summarize

    tensor = load(path)
    summary = summarize(tensor) if tensor.element_type.is_readable else None
    if as_json:
        click.echo(json.dumps(tensor_json(tensor, summary)))
    else:
        for line in tensor_lines(tensor, summary):
            click.echo(line)
    return ExitCode.FINE


def _show_rows(path: Path, show_all: bool, as_json: bool) -> ExitCode:
    from atbprobe_rules.cli import dump_text
    from atbprobe_rules.dump.statistic_file import ANOMALY_FILE, read_anomalies, read_statistics

    most = None if show_all else ROWS_SHOWN
    console = dump_text.new_console()
    rows: list[dict[str, Any]]
    if path.name == ANOMALY_FILE:
        anomalies = read_anomalies(path)
        problems, rows = anomalies.problems, [dump_text.anomaly_json(row) for row in anomalies.rows]
        if not as_json:
            dump_text.print_anomalies(console, anomalies.rows[:most], len(anomalies.rows))
    else:
        statistics = read_statistics(path)
        problems, rows = statistics.problems, [dump_text.statistic_json(row) for row in statistics.rows]
        if not as_json:
            dump_text.print_statistics(console, statistics.rows, most)
    if as_json:
        said = {"kind": path.stem, "file": str(path), "rows": rows, "problems": [str(problem) for problem in problems]}
        click.echo(json.dumps(said))
    else:
        _tell(problems)
    return ExitCode.INCOMPLETE if problems else ExitCode.FINE


def _show_dump(dump: Dump, show_all: bool, as_json: bool) -> ExitCode:
    """One round after the other, so that memory holds only one."""
    from atbprobe_rules.cli.dump_text import (
        ANOMALIES_SHOWN,
        DumpTree,
        amount_json,
        amount_text,
        new_console,
        print_anomalies,
        round_json,
    )
    from atbprobe_rules.cli.words import counted
    from atbprobe_rules.dump.contents import Amount, round_contents

    is_round = len(dump.devices) == 1 and dump.devices[0].only_round is not None
    tree = DumpTree(str(dump.path), with_ops=is_round or show_all, most_rounds=None if show_all else ROUNDS_SHOWN)
    amounts: list[Amount] = []
    anomalies: list[AnomalyRow] = []
    problems: list[DumpError] = []
    rounds: list[dict[str, Any]] = []
    anomaly_count = 0
    for one in dump.rounds:
        contents = round_contents(one)
        amounts.append(contents.amount)
        problems += contents.problems
        if as_json:
            rounds.append(round_json(contents, with_ops=is_round))
            continue
        tree.add(contents)
        anomaly_count += len(contents.anomalies)
        anomalies += contents.anomalies if show_all else contents.anomalies[: ANOMALIES_SHOWN - len(anomalies)]
    total = Amount.of(amounts)
    if as_json and is_round:
        click.echo(json.dumps({"kind": "round", **rounds[0]}))
    elif as_json:
        said = {"kind": "dump", "path": str(dump.path), **amount_json(total), "rounds": rounds}
        click.echo(json.dumps(said))
    else:
        console = new_console()
        tree.print(console)
        console.print(f"{counted(len(amounts), 'round')}: {amount_text(total)}", soft_wrap=True)
        print_anomalies(console, anomalies, anomaly_count)
        _tell(problems)
    return ExitCode.INCOMPLETE if problems or total.missing else ExitCode.FINE


def _tell(problems: Sequence[DumpError]) -> None:
    for problem in problems:
        click.echo(f"atbprobe-rules: {problem}", err=True)
