"""``atbprobe-rules status``: the rules in force, and which processes have them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode


@click.command("status")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(config: Path | None, as_json: bool) -> ExitCode:
    """Show the rules in force, the watcher, the last refused edit, and every process that has the probe loaded."""
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.cli.status_text import print_status
    from atbprobe_rules.status import status_of

    path = resolve_config(config)
    try:
        channel = Channel.attach(channel_folder(str(path)))
    except FileNotFoundError:
        click.echo(f"nothing watches {path}: source load_atb_probe.sh first", err=True)
        return ExitCode.NO
    with channel:
        status = status_of(channel, str(path))
    if as_json:
        click.echo(json.dumps(status.to_json()))
    else:
        print_status(status)
    return ExitCode.FINE
