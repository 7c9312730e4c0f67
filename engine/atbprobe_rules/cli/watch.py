"""``atbprobe-rules watch``: publish the rules of a config file whenever it changes."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted


@click.command("watch")
@config_option
@click.option("--detach", is_flag=True, help="Leave a watcher in the background, or join the one that is there.")
@click.option(
    "--hold",
    "held_by",
    metavar="PID",
    type=click.IntRange(min=1),
    multiple=True,
    help="With --detach: the watcher stays at least as long as this process runs.",
)
@click.option(
    "--release",
    "released",
    metavar="PID",
    type=click.IntRange(min=1),
    multiple=True,
    help="Take the hold of this process away and say whether the watcher stays.",
)
@click.option("--attended", is_flag=True, hidden=True, help="Somebody else has made the holds already.")
def command(
    config: Path | None, detach: bool, held_by: tuple[int, ...], released: tuple[int, ...], attended: bool
) -> ExitCode:
    """Publish the rules of a config file to all processes, now and whenever the file changes.

    In the foreground it runs until it is interrupted. A watcher in the background ends when none of the
    processes that hold it runs any more and no process has the probe loaded, or on `atbprobe-rules stop`.
    """
    path = resolve_config(config)
    if held_by and not detach:
        raise click.UsageError("--hold goes with --detach")
    if released and detach:
        raise click.UsageError("--release and --detach do not go together")
    if released:
        return _release(path, released)
    if detach:
        return _detach(path, held_by)
    return _watch(path, attended)


def _watch(config: Path, attended: bool) -> ExitCode:
    from atbprobe_rules.watch import AlreadyWatchedError, Watcher, serve_signals

    report = _log_of_detached() if attended else _report
    watcher = Watcher(config, report, holds_itself=not attended)
    serve_signals(watcher, survive_hangup=attended)
    try:
        watcher.run()
    except AlreadyWatchedError:
        if attended:
            return ExitCode.FINE
        click.echo(f"{config} is watched already: see `atbprobe-rules status`", err=True)
        return ExitCode.NO
    if attended or not watcher.was_stopped:
        return ExitCode.FINE
    click.echo(f"{config} is not watched any more; running processes keep the rules that they have", err=True)
    return ExitCode.INTERRUPTED


def _report(text: str) -> None:
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    with contextlib.suppress(OSError):  # a terminal that is gone must not end the watcher
        click.echo(f"{now} {text}", err=True)


def _log_of_detached() -> Callable[[str], None]:
    """Return what writes to the log that whoever started the watcher has made its standard error."""
    from atbprobe_rules.bounded_log import BoundedLog

    log = BoundedLog(sys.stderr.fileno())
    return lambda text: log.write(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {text}")


def _detach(config: Path, held_by: tuple[int, ...]) -> ExitCode:
    from atbprobe_rules.cli.rollout_text import describe_settled
    from atbprobe_rules.watcher_start import start_or_join

    rollout = start_or_join(config, held_by or (os.getppid(),))
    click.echo(describe_settled(config, rollout), err=True)
    return ExitCode.FINE if rollout.watched else ExitCode.NO


def _release(config: Path, released: tuple[int, ...]) -> ExitCode:
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.holds import holders
    from atbprobe_rules.watcher_start import let_go

    watcher = let_go(config, released)
    if watcher is None:
        return ExitCode.FINE
    folder = channel_folder(str(config))
    try:
        with Channel.attach(folder) as channel:
            processes = len(channel.live_processes())
    except FileNotFoundError:  # it has gone meanwhile
        return ExitCode.FINE
    needs = []
    if processes:
        needs.append(f"{counted(processes, 'process')} with the probe loaded")
    if shells := len(holders(folder)):
        needs.append(counted(shells, "other shell"))
    command = shlex.join(["atbprobe-rules", "stop", "--config", str(config)])
    click.echo(f"the watcher (process {watcher.pid}) stays for {' and '.join(needs)}; `{command}` ends it", err=True)
    return ExitCode.FINE
