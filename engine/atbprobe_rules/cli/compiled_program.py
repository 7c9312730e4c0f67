"""The program of a config file that a command is given, or why there is none, told to the person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from atbprobe_rules.compiled_config import CompiledConfig
    from atbprobe_rules.program import Program


def compile_or_tell(config: Path) -> Program | None:
    """Compile a file, whoever it belongs to; what is wrong with it goes to stderr."""
    compiled = compile_whole_or_tell(config)
    return None if compiled is None else compiled.program


def compile_whole_or_tell(config: Path) -> CompiledConfig | None:
    """As compile_or_tell, with what was checked on the way; its program is there."""
    from atbprobe_rules.compiled_config import compile_config
    from atbprobe_rules.config_file import read_config_file

    reading = read_config_file(config, from_anybody=True)
    if reading.data is None:
        click.echo(reading.fault or f"{config}: no such file", err=True)
        return None
    compiled = compile_config(reading, config)
    if compiled.checked.diagnostics:
        click.echo(compiled.checked.render(), err=True)
    return None if compiled.program is None else compiled
