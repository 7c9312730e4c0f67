"""``atbprobe-rules stop``: end the watcher of a config."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted


@click.command("stop")
@config_option
def command(config: Path | None) -> ExitCode:
    """End the watcher of a config, whoever holds it. Running processes keep the rules that they have."""
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.watcher_start import stop

    path = resolve_config(config)
    folder = channel_folder(str(path))
    watcher = stop(folder)
    if watcher is None:
        click.echo(f"nothing watches {path}")
        return ExitCode.FINE
    click.echo(f"the watcher of {path} (process {watcher.pid}) has ended")
    with contextlib.suppress(FileNotFoundError), Channel.attach(folder) as channel:
        processes = len(channel.live_processes())
        click.echo(f"{counted(processes, 'process')} with the probe loaded: the rules stay, later edits are not seen")
    return ExitCode.FINE
