"""The option --config: which config file, and so which channel, a command is about."""

from __future__ import annotations

import os
from pathlib import Path

import click

config_option = click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path, readable=False),
    help="The config file; default: $ATB_DUMP_CONFIG, else the only one that is watched for you.",
)


def resolve_config(config: Path | None, named_by: str = "--config") -> Path:
    """Return the absolute path of the config file that is meant; a usage error if that cannot be told.

    `named_by` is the word of the command line that names one.
    Links are not resolved: a channel belongs to the path as it is written in ``ATB_DUMP_CONFIG``.
    """
    if config is not None and str(config) != ".":  # which is what an empty word becomes
        return absolute_config(config)
    if config is not None:
        raise click.UsageError("--config: a folder is no config file")
    from_environment = os.environ.get("ATB_DUMP_CONFIG")
    if from_environment:
        return absolute_config(Path(from_environment))
    from atbprobe_rules.status import watched_configs

    watched = watched_configs()
    if len(watched) == 1:
        return Path(watched[0])
    if not watched:
        message = f"no config is watched here, and ATB_DUMP_CONFIG is not set: say which with {named_by}"
        raise click.UsageError(message)
    listed = "".join(f"\n  {path}" for path in watched)
    raise click.UsageError(f"several configs are watched, say which with {named_by}:{listed}")


def absolute_config(config: Path) -> Path:
    """Return the absolute path, with the working directory as the shell writes it, links and all.

    The load script does so too.
    """
    physical = Path.cwd()
    logical = Path(os.environ.get("PWD", ""))
    same = logical.is_absolute() and logical.exists() and logical.samefile(physical)
    return (logical if same else physical) / config
