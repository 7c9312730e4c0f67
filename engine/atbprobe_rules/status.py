"""What `status` tells of one channel, as data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from atbprobe_rules.attached_process import Process
from atbprobe_rules.channel import (
    REJECTED_NOTE,
    WATCHER_NOTE,
    Channel,
    ChannelError,
    Published,
    existing_channels,
)
from atbprobe_rules.processes import ProcessName

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Status:
    """One channel at one moment."""

    config: str
    folder: Path
    published: Published | None
    watcher: ProcessName | None
    log: str | None
    rejected: dict[str, Any] | None
    processes: list[Process]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `status --json` prints."""
        published = self.published
        watcher = None
        if self.watcher is not None:
            watcher = {"pid": self.watcher.pid, "alive": self.watcher.alive, "log": self.log}
        rule_names = () if published is None else published.rule_names
        return {
            "config": self.config,
            "channel": str(self.folder),
            "generation": 0 if published is None else published.generation,
            "rules_hash": None if published is None else published.config_hash,
            "taken_at": None if published is None else _utc(published),
            "watcher": watcher,
            "rejected": rejection_to_json(self.rejected),
            "processes": [_process_to_json(process, rule_names) for process in self.processes],
        }


def rejection_to_json(note: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what `check --json` prints of the refused content; the note has more."""
    return None if note is None else {key: note[key] for key in ("file", "ok", "diagnostics")}


def _utc(published: Published) -> str:
    return taken_at(published).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def taken_at(published: Published) -> datetime:
    """Return when the rules were put in force."""
    return datetime.fromtimestamp(published.published_at / _NANOSECONDS, timezone.utc)


def status_of(channel: Channel, config: str) -> Status:
    """Look at a channel."""
    published = channel.published()
    note = channel.read_note(WATCHER_NOTE) or {}
    return Status(
        config=config,
        folder=channel.folder,
        published=published,
        watcher=channel.watcher(),
        log=note.get("log"),
        rejected=channel.read_note(REJECTED_NOTE),
        processes=channel.processes(0 if published is None else len(published.rule_names)),
    )


def watched_configs() -> list[str]:
    """Return the config files of all channels of this user whose watcher has said which one it is."""
    found = []
    for folder in existing_channels():
        try:
            with Channel.attach(folder) as channel:
                note = channel.read_note(WATCHER_NOTE)
        except (ChannelError, OSError):
            continue  # damaged, or just taken away
        if note is not None and isinstance(note.get("config"), str):
            found.append(note["config"])
    return found


def _process_to_json(process: Process, rule_names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "device": process.device,
        "alive": process.alive,
        "generation": process.generation,
        "ops_seen": process.ops_seen,
        "ops_selected": process.ops_selected,
        "tensors_saved": process.tensors_saved,
        "bytes_saved": process.bytes_saved,
        "bytes_queued": process.bytes_queued,
        "lost": process.lost,
        "hits": dict(zip(rule_names, process.hits, strict=False)),
    }
