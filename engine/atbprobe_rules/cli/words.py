"""Small matters of English."""

from __future__ import annotations

import shlex
from pathlib import Path


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: `1 process`, `2 processes`, `1,234 shells`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"


def restart_command(config: str | Path) -> str:
    """Return the command that starts the watcher of a config (again), for a person to copy."""
    return shlex.join(["atbprobe-rules", "watch", "--detach", "--config", str(config)])
