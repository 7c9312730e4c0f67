"""In words: how far an edit has come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atbprobe_rules.rollout import Rollout, Stage


def describe_settled(config: Path, rollout: Rollout) -> str:
    """Say what the watcher has made of the file."""
    if not rollout.watched:
        return f"{config}: no watcher answers; see `atbprobe-rules status`"
    if rollout.stage is Stage.NO_FILE:
        return f"{config}: no such file yet; write it whenever you like"
    if rollout.stage is Stage.NOT_PUBLISHED:
        return f"{config}: the watcher has not published it yet; see `atbprobe-rules status`"
    if rollout.stage is Stage.REJECTED:
        assert rollout.rejection is not None
        return f"{describe_rejection(rollout.rejection)}\n{config}: refused; the last good rules stay in force"
    assert rollout.published is not None
    return f"{config}: in force as generation {rollout.published.generation}"


def describe_rejection(rejection: dict[str, Any]) -> str:
    """Show what was wrong, as the watcher found it."""
    return str(rejection["text"])
