"""From the end of an edit to the last of several processes deciding under the new rules, beside what a bare flag takes.

The edit is a rename, as editors save; the clock starts just before it. The processes (native/swap_host.cpp) leave the
moment of their first decision under the new rules; the last one's counts. In turns with the edits a flag in shared
memory is set, at which the same processes look before every operation: what is left of the latency then is the pause
between a process's steps and, where there are fewer cores than processes, the turn it has to wait for.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from atbprobe_rules.channel import channel_folder
from atbprobe_rules.watcher_start import stop
from benchmarks.libraries import Library, built_file

PROCESSES = 8
SWAPS = 500
WARM_UPS = 5
PAUSE_MICROSECONDS = 1000
LONGEST_WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.001
"""Between looks at what the hosts write into memory; what is measured are their own time stamps."""

_WORD = 8
_LINE_WORDS = 8
_LINES = 64
# Words of a host's line, as in swap_host.cpp.
_STEPS, _FLAG, _FLAG_SEEN_AT, _CHANGES, _CHANGED_AT, _SELECTED = range(6)

RULES: dict[str, Any] = {"task": "tensor", "dump_enable": True, "exec_range": "all", "filter_level": 0}
"""With ids "0" the operation of the hosts is selected, with "1" it is not."""


@dataclass(frozen=True)
class Latencies:
    """Milliseconds, one number a swap; `floor` are those of the flag, empty where it was not measured."""

    name: str
    library: str
    swaps: list[float]
    floor: list[float]

    def to_json(self) -> dict[str, Any]:
        """Return what stands in results.json."""
        found = {"name": self.name, "library": self.library, "unit": "ms", "swaps": len(self.swaps)}
        return {**found, **_percentiles("", self.swaps), **(_percentiles("floor_", self.floor) if self.floor else {})}

    def text(self) -> str:
        """Return one line for a person."""
        p50, p99 = _percentiles("", self.swaps).values()
        line = f"{self.name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms ({len(self.swaps)} swaps)"
        if not self.floor:
            return line
        p50, p99 = _percentiles("", self.floor).values()
        return f"{line}; a bare flag p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def _percentiles(prefix: str, values: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(values, [50, 99])
    return {f"{prefix}p50": round(float(p50), 3), f"{prefix}p99": round(float(p99), 3)}


class Hosts:
    """Several processes that execute operations, and the memory that they share with this one."""

    def __init__(self, library: Library, folder: Path, pause: int) -> None:
        self.config = folder / "config.json"
        self._memory_file = folder / "shared"
        self._memory_file.write_bytes(bytes(_LINES * _LINE_WORDS * _WORD))
        words = np.memmap(self._memory_file, np.uint64, "r+", shape=(_LINES, _LINE_WORDS))
        self._all: npt.NDArray[np.uint64] = words[0]
        self._hosts: npt.NDArray[np.uint64] = words[1 : PROCESSES + 1]
        self._edits = 0
        self._flags = 0
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library.path),
            "ATB_OUTPUT_DIR": str(folder),
            "ATB_DUMP_CONFIG": str(self.config),
            "ATB_AIT_LOG_LEVEL": "5",
        }
        command = [str(built_file("swap_host")), str(self._memory_file)]
        self._processes = [
            subprocess.Popen([*command, str(place), str(pause)], env=environment) for place in range(PROCESSES)
        ]
        self._wait_for(lambda: bool((self._hosts[:, _STEPS] > 0).all()))

    def end(self) -> None:
        self._all[1] = 1
        for process in self._processes:
            process.wait()

    def set_flag(self) -> float:
        """Set the flag; return milliseconds until the last process has seen it."""
        self._flags += 1
        start = time.monotonic_ns()
        self._all[0] = self._flags
        self._wait_for(lambda: bool((self._hosts[:, _FLAG] == self._flags).all()))
        return (int(self._hosts[:, _FLAG_SEEN_AT].max()) - start) / 1e6

    def edit(self) -> float:
        """Change the rules; return milliseconds until the last process has decided under them.

        AssertionError if a process did not change its mind exactly once.
        """
        before = self._hosts[:, _CHANGES].copy()
        self._edits += 1
        fresh = self.config.with_name(".config.new")
        write_rules(fresh, selected=self._edits % 2 == 0, number=self._edits)
        start = time.monotonic_ns()
        fresh.replace(self.config)
        self._wait_for(lambda: bool((self._hosts[:, _CHANGES] > before).all()))
        if not ((self._hosts[:, _CHANGES] == before + 1) & (self._hosts[:, _SELECTED] == (self._edits + 1) % 2)).all():
            raise AssertionError("a process decided otherwise than the rules say")
        return (int(self._hosts[:, _CHANGED_AT].max()) - start) / 1e6

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while not is_so():
            time.sleep(LOOK_SECONDS)
            if time.monotonic() > until or any(process.poll() is not None for process in self._processes):
                raise AssertionError(f"not all processes were reached within {LONGEST_WAIT_SECONDS:g} s")


def write_rules(path: Path, *, selected: bool, number: int) -> None:
    """Write rules that select the operation of the hosts or not; `number` makes their bytes differ from all others."""
    text = json.dumps({**RULES, "ids": "0" if selected else "1"}) + " " * (number % 1000)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)


@contextmanager
def hosts_under(library: Library, pause: int) -> Iterator[Hosts]:
    """Start processes that have the operation selected, with a watcher if the library is ours."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="atbprobe-bench-", dir="/dev/shm")))
        config = folder / "config.json"
        write_rules(config, selected=True, number=0)
        if library.is_ours:
            stack.enter_context(_runtime_folder(folder / "runtime"))
            start_watcher(config)
            stack.callback(stop, channel_folder(str(config)))
        hosts = Hosts(library, folder, pause)
        stack.callback(hosts.end)
        yield hosts


def start_watcher(config: Path) -> None:
    """Leave a watcher in the background, as the load script does."""
    watch = [sys.executable, "-m", "atbprobe_rules", "watch", "--detach", "--hold", str(os.getpid())]
    subprocess.run([*watch, "--config", str(config)], check=True, stderr=subprocess.DEVNULL)


@contextmanager
def _runtime_folder(folder: Path) -> Iterator[None]:
    before = os.environ.get("ATBPROBE_RUNTIME_DIR")
    os.environ["ATBPROBE_RUNTIME_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["ATBPROBE_RUNTIME_DIR"]
        if before is not None:
            os.environ["ATBPROBE_RUNTIME_DIR"] = before


def measure(name: str, library: Library, pause: int, swaps: int, *, floor: bool) -> Latencies:
    """Change the rules so many times, each time after a random while, so that no rhythm is met."""
    moments = random.Random(1)
    with hosts_under(library, pause) as hosts:
        for _ in range(WARM_UPS if floor else 0):
            hosts.edit()
        taken: list[float] = []
        of_flag: list[float] = []
        for _ in range(swaps):
            # At no fixed phase of the hosts' steps.
            time.sleep(moments.uniform(0.005, 0.025))
            taken.append(hosts.edit())
            if floor:
                time.sleep(moments.uniform(0.005, 0.025))
                of_flag.append(hosts.set_flag())
    return Latencies(name, library.name, taken, of_flag)
