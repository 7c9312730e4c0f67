"""``atbprobe-rules compile``: rules for machines without Python."""

from __future__ import annotations

from pathlib import Path

import click

from atbprobe_rules.cli.compiled_program import compile_or_tell
from atbprobe_rules.cli.exit_codes import ExitCode


@click.command("compile")
@click.argument("config", type=click.Path(path_type=Path, readable=False))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, readable=False),
    help="The file to write.",
)
def command(config: Path, output: Path) -> ExitCode:
    """Compile CONFIG to a file that the probe takes without a watcher.

    Start the model with ATBPROBE_IMAGE=FILE and the probe library in LD_PRELOAD (see `atbprobe-rules lib`): the rules
    are in force from its first operation to its end. No Python is needed where it runs. FILE must belong to the user
    who runs the model, or to root, and nobody else may be able to write to it.
    """
    from atbprobe_rules.image import encode
    from atbprobe_rules.whole_file import write_whole_file

    program = compile_or_tell(config)
    if program is None:
        return ExitCode.NO
    image = encode(program)
    write_whole_file(output, image)
    click.echo(f"{output}: {len(image):,} bytes")
    return ExitCode.FINE
