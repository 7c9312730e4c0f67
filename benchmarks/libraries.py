"""The two libraries under measurement, and a place for each with rules in force."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from atbprobe_rules import native
from atbprobe_rules.channel import Channel
from atbprobe_rules.compiled_config import compile_config
from atbprobe_rules.config_file import read_config_file
from atbprobe_rules.image import encode
from atbprobe_rules.installation import probe_library
from benchmarks.published_peer import peer_library

REPOSITORY = Path(__file__).parent.parent
# The same switch as for the tests: where the built files are, if not where `make setup` puts them.
NATIVE = os.environ.get("ATBPROBE_TEST_NATIVE")


def built_file(name: str) -> Path:
    """Return a program or library that is built for the benchmarks alone."""
    return Path(NATIVE or REPOSITORY / "build" / "release" / "native") / name


@dataclass(frozen=True)
class Library:
    """One of the two, built for the new std::string; or none, for a host that writes its files itself."""

    name: str
    path: Path | None
    is_ours: bool

    @property
    def is_plain(self) -> bool:
        return self.path is None

    @contextmanager
    def environment(self, rules: dict[str, Any], parent: Path | None = None) -> Iterator[dict[str, str]]:
        """What a process needs to be started under this library and these rules, with its output below `parent`."""
        with TemporaryDirectory(prefix="atbprobe-bench-", dir=parent) as name:
            config = Path(name) / "config.json"
            config.write_text(json.dumps(rules), encoding="utf-8")
            config.chmod(0o600)
            runtime = str(Path(name) / "runtime")
            if self.is_ours:
                publish(config, runtime)
            variables = {"ATB_OUTPUT_DIR": name, "ATB_DUMP_CONFIG": str(config)}
            if self.path is not None:
                variables["LD_PRELOAD"] = str(self.path)
            yield {**os.environ, **variables, "ATBPROBE_RUNTIME_DIR": runtime}


def publish(config: Path, runtime: str) -> None:
    """Put a config in force as a watcher would, without one."""
    program = compile_config(read_config_file(config), config).program
    if program is None:
        raise ValueError(f"{config} is refused")
    with Channel.create(Path(native.channel_path(runtime, str(config)))) as channel:
        channel.publish(encode(program))


def ours() -> Library:
    return Library("ours", Path(NATIVE) / "libatb_probe_abi1.so" if NATIVE else probe_library(1), is_ours=True)


def empty() -> Library:
    """Return a library with nothing in it: what it costs to preload any."""
    return Library("empty", built_file("libempty_library.so"), is_ours=False)


def plain() -> Library:
    return Library("plain files", None, is_ours=False)


def peer() -> Library:
    return Library("peer", peer_library(1), is_ours=False)
