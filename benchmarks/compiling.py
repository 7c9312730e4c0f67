"""What the watcher does with an edit, in its process and after its start: check, compile, encode, publish."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from atbprobe_rules import native
from atbprobe_rules.channel import Channel
from atbprobe_rules.publisher import Publisher, warm_up

RULES = 64
TERMS_OF_A_FIELD = 8
REPEATS = 30

PLAIN: dict[str, Any] = {
    "task": "tensor",
    "dump_enable": True,
    "exec_range": "0,9",
    "ids": "2,3_1",
    "op_name": "attention,mlp",
    "save_child": True,
    "device": "",
    "filter_level": 1,
}
"""As people have it who use no extension."""


def large_config() -> dict[str, Any]:
    """Return 64 rules with 1,024 different terms, no two rules alike."""
    rules = [
        {
            "ids": ",".join(f"{rule}_{term}" for term in range(TERMS_OF_A_FIELD)),
            "op_name": ",".join(f"op{rule}name{term}" for term in range(TERMS_OF_A_FIELD)),
            "exec_range": f"{rule}-{rule + 9}",
        }
        for rule in range(RULES)
    ]
    return {"dump_enable": True, "rules": rules}


def milliseconds_to_publish(config: dict[str, Any]) -> list[float]:
    """Return what each of many edits takes, from the content on disk to the new generation, as a watcher's own look.

    Every edit has other bytes than all before; AssertionError if one was not published.
    """
    with TemporaryDirectory(prefix="atbprobe-bench-") as name:
        path = Path(name) / "config.json"
        with Channel.create(Path(native.channel_path(str(Path(name) / "runtime"), str(path)))) as channel:
            publisher = Publisher(channel, path, lambda _: None)
            warm_up()
            times = list(_edits(publisher, path, config))
            if channel.generation != REPEATS:
                raise AssertionError(f"{channel.generation} generations after {REPEATS} edits")
    return times


def _edits(publisher: Publisher, path: Path, config: dict[str, Any]) -> Iterator[float]:
    for number in range(REPEATS):
        path.write_text(json.dumps(config) + " " * number, encoding="utf-8")
        path.chmod(0o600)
        start = time.perf_counter()
        publisher.look(start)
        yield (time.perf_counter() - start) * 1e3


def measure() -> dict[str, float]:
    """Return medians in milliseconds, by config."""
    return {
        "a plain config": statistics.median(milliseconds_to_publish(PLAIN)),
        f"{RULES} rules with {2 * RULES * TERMS_OF_A_FIELD:,} terms": statistics.median(
            milliseconds_to_publish(large_config())
        ),
    }
