"""What `status` tells of one channel, as data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from atbprobe_rules.channel import Channel, Process, Published, existing_channels
from atbprobe_rules.processes import ProcessName
from atbprobe_rules.publisher import REJECTED_NOTE
from atbprobe_rules.watch import WATCHER_NOTE

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
        rejected = self.rejected
        if rejected is not None:
            rejected = {key: value for key, value in rejected.items() if key != "content_hash"}
        rule_names = () if published is None else published.rule_names
        return {
            "config": self.config,
            "channel": str(self.folder),
            "generation": 0 if published is None else published.generation,
            "rules_hash": None if published is None else published.config_hash,
            "taken_at": None if published is None else taken_at(published).isoformat().replace("+00:00", "Z"),
            "watcher": watcher,
            "rejected": rejected,
            "processes": [_process_to_json(process, rule_names) for process in self.processes],
        }


def taken_at(published: Published) -> datetime:
    """Return when the rules were put in force, UTC, to the millisecond."""
    moment = datetime.fromtimestamp(published.published_at / _NANOSECONDS, timezone.utc)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


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
        with Channel.attach(folder) as channel:
            note = channel.read_note(WATCHER_NOTE)
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
