"""``atbprobe-rules lib``: which library goes into LD_PRELOAD."""

from __future__ import annotations

import click

from atbprobe_rules.installation import Abi, probe_library


@click.command("lib")
@click.option(
    "--abi",
    type=click.Choice(["0", "1"]),
    required=True,
    help="The _GLIBCXX_USE_CXX11_ABI of the host, the digit at the end of ATB_HOME_PATH.",
)
def command(abi: str) -> None:
    """Print the path of the library to preload."""
    wanted: Abi = 0 if abi == "0" else 1
    click.echo(probe_library(wanted))
