"""``atbprobe-rules scripts``: where the scripts to source are."""

from __future__ import annotations

import click

from atbprobe_rules.installation import script_folder


@click.command("scripts")
def command() -> None:
    """Print the folder of the scripts to source.

    \b
    source "$(atbprobe-rules scripts)/load_atb_probe.sh" --output=DIR --config=FILE
    """
    click.echo(script_folder())
