"""``atbprobe-rules status``: the rules in force, and which processes have them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from atbprobe_rules.status import Status

REFRESH_SECONDS = 0.25
"""The counters are memory that processes write to: nothing tells of a change, so they are looked at."""


@click.command("status")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --follow one whenever it changes.")
@click.option("--follow", is_flag=True, help="Go on showing it until interrupted, or until the channel is gone.")
def command(config: Path | None, as_json: bool, follow: bool) -> ExitCode:
    """Show the rules in force, the watcher, the last refused edit, and every process that has the probe loaded.

    Where a model is missing among the processes, say why that may be.
    """
    path = resolve_config(config)
    status = _look(path)
    if status is None:
        click.echo(f"nothing watches {path}: source load_atb_probe.sh first", err=True)
        return ExitCode.NO
    if follow:
        _follow_as_json(path) if as_json else _follow(path, status)
        click.echo("the channel is gone: nothing watches the config, and no process is attached", err=True)
    elif as_json:
        click.echo(json.dumps(status.to_json()))
    else:
        from atbprobe_rules.cli.status_text import print_status
        from atbprobe_rules.host_processes import absent_processes

        print_status(status, absent_processes(status.config, {process.pid for process in status.processes}))
    return ExitCode.FINE


def _look(path: Path) -> Status | None:
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.status import status_of

    try:
        channel = Channel.attach(channel_folder(str(path)))
    except FileNotFoundError:
        return None
    with channel:
        return status_of(channel, str(path))


def _follow_as_json(path: Path) -> None:
    last = None
    while (status := _look(path)) is not None:
        line = json.dumps(status.to_json())
        if line != last:
            click.echo(line)
        last = line
        time.sleep(REFRESH_SECONDS)


def _follow(path: Path, status: Status | None) -> None:
    """Show it in place; what is there at the end stays on the screen."""
    from rich.console import Console
    from rich.live import Live

    from atbprobe_rules.cli.status_text import render_status
    from atbprobe_rules.host_processes import absent_processes

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while status is not None:
            absent = absent_processes(status.config, {process.pid for process in status.processes})
            live.update(render_status(status, absent), refresh=True)
            time.sleep(REFRESH_SECONDS)
            status = _look(path)
