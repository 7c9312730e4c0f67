"""The option --timeout of commands that wait for running processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

DEFAULT_SECONDS = 30.0


def timeout_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option, which becomes the parameter `seconds`."""
    return click.option(
        "--timeout",
        "seconds",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=DEFAULT_SECONDS,
        show_default=True,
        help=help_text,
    )
