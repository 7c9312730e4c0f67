"""``atbprobe-rules ops``: which ops the running processes execute, to find the ids to write into a config."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.timeout_option import timeout_option
from atbprobe_rules.cli.words import counted

if TYPE_CHECKING:
    from atbprobe_rules.channel import Channel
    from atbprobe_rules.listing.processes import Listing, ProcessListing, Progress

MOST_ROUNDS = 1000
"""As many as a process lists for one request."""


@click.command("ops")
@config_option
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(1, MOST_ROUNDS),
    default=1,
    show_default=True,
    help="List the ops of the next N rounds.",
)
@timeout_option("Wait so long for processes that execute nothing.")
@click.option("--all", "show_all", is_flag=True, help="Show every layer and every process, even where they are alike.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each op.")
def command(config: Path | None, rounds: int, seconds: float, show_all: bool, as_json: bool) -> ExitCode:
    """List the operations and kernels that the running processes execute, with the tensors they get and give.

    Nothing is copied or written, whatever the config says, and it need not be there yet. A round begins with the first
    layer-level operation that a thread begins, and ends before it begins one of them again.

    \b
    Exit codes: 0 every process has listed its rounds; 1 none has listed anything, or none is there; 3 some have, or
    not all of it: what there is, is shown.
    """
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.listing.processes import list_ops

    path = resolve_config(config)
    try:
        channel = Channel.attach(channel_folder(str(path)))
    except FileNotFoundError:
        click.echo(f"nothing watches {path}: source load_atb_probe.sh first", err=True)
        return ExitCode.NO
    with channel:
        if not channel.live_processes():
            _tell_of_absence(channel, path)
            return ExitCode.NO
        with _progress() as progress:
            listing = list_ops(channel, rounds, seconds, progress)
    if as_json:
        for op in listing.ops:
            click.echo(json.dumps(op.to_json()))
    else:
        from atbprobe_rules.cli.ops_text import print_listing

        print_listing(listing, show_all=show_all)
    return _tell_what_is_missing(listing, seconds)


def _tell_of_absence(channel: Channel, path: Path) -> None:
    """As `status` does, but as a failure."""
    from atbprobe_rules.diagnostics import printable
    from atbprobe_rules.host_processes import absent_processes

    ended = len(channel.processes())
    left = f" any more ({counted(ended, 'process')} had it and ended)" if ended else ""
    click.echo(f"no running process has loaded the probe and used it{left}", err=True)
    for process in absent_processes(str(path), set()):
        click.echo(printable(process.explain()), err=True)


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show on a terminal how far the processes are, until the end of the block."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield None
        return
    with console.status("asking") as status:
        yield lambda processes: status.update(_how_far(processes))


def _how_far(processes: Sequence[ProcessListing]) -> str:
    from atbprobe_rules.listing.processes import Outcome

    done = sum(process.outcome is Outcome.COMPLETE for process in processes)
    idle = [str(process.pid) for process in processes if process.outcome is Outcome.IDLE]
    waiting = f"; no operation yet in process {', '.join(idle)}" if idle else ""
    return f"{done} of {counted(len(processes), 'process')} listed{waiting}"


def _tell_what_is_missing(listing: Listing, seconds: float) -> ExitCode:
    """Say which processes have not listed all, and why."""
    for process in listing.processes:
        reason = _reason(process, seconds)
        if reason:
            click.echo(f"process {process.pid} {reason}", err=True)
    if not listing.ops:
        return ExitCode.NO
    return ExitCode.FINE if listing.is_complete else ExitCode.INCOMPLETE


def _reason(process: ProcessListing, seconds: float) -> str:
    """Why a process has not listed all, empty if it has."""
    from atbprobe_rules.diagnostics import printable
    from atbprobe_rules.listing.processes import Outcome

    listed = f"; {counted(len(process.ops), 'op')} of it are listed" if process.ops else ""
    return {
        Outcome.COMPLETE: "",
        Outcome.IDLE: f"has executed no operation within {seconds:g} s: ask again while it works",
        Outcome.SILENT: (
            f"has executed {counted(process.ops_executed, 'op')} within {seconds:g} s and listed none: it has begun no "
            "layer-level operation since it was asked, or says on its stderr why it cannot list them"
        ),
        Outcome.UNFINISHED: f"was not through with its rounds within {seconds:g} s{listed}",
        Outcome.ENDED: f"ended before its rounds were over{listed}",
        Outcome.TOO_LARGE: f"has more to list than it keeps{listed}; ask for fewer rounds",
        Outcome.DAMAGED: f"has given an answer that cannot be read: {printable(process.problem)}",
    }[process.outcome]
