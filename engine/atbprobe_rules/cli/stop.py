"""``atbprobe-rules stop``: end the watcher of a config."""

from __future__ import annotations

from pathlib import Path

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode


@click.command("stop")
@config_option
def command(config: Path | None) -> ExitCode:
    """End the watcher of a config, whoever holds it. Running processes keep the rules that they have."""
    from atbprobe_rules.channel import channel_folder
    from atbprobe_rules.watcher_start import stop

    path = resolve_config(config)
    watcher = stop(channel_folder(str(path)))
    if watcher is None:
        click.echo(f"nothing watches {path}")
    else:
        click.echo(f"the watcher of {path} (process {watcher.pid}) has ended")
    return ExitCode.FINE
