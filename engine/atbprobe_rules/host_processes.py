"""Processes of this user that have an ATB library or the probe in memory: why a model may be missing in `status`.

Told by /proc/<pid>/maps and /proc/<pid>/environ, which a process cannot hide from its own user.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HOST = re.compile(r"/libatb(?:_standin_abi[01])?\.so(?:\.\d+)*(?: \(deleted\))?$", re.MULTILINE)
_HOST_PATH = re.compile(r"(/\S*/libatb(?:_standin_abi[01])?\.so)")
_PROBE = re.compile(r"/libatb_probe_abi([01])\.so(?: \(deleted\))?$", re.MULTILINE)
_HOST_ABI = re.compile(r"abi_?([01])(?:/|\.so)")


class Absence(enum.Enum):
    """Why a process that runs a model has none of our rules."""

    NOT_LOADED = "not loaded"
    NO_CONFIG = "no config"
    OTHER_CONFIG = "other config"
    WRONG_ABI = "wrong abi"
    OWN_IMAGE = "own image"
    OTHER_NAMESPACE = "other namespace"
    NOT_CALLED = "not called"


@dataclass(frozen=True)
class HostProcess:
    """A running process with ATB or the probe in memory, and why it is not attached to a config's channel."""

    pid: int
    program: str
    absence: Absence

    def explain(self) -> str:
        """Say what is the matter and what to do, as one sentence without a full stop."""
        return f"process {self.pid} ({self.program}) {_SENTENCES[self.absence]}"


_SENTENCES = {
    Absence.NOT_LOADED: (
        "runs ATB without the probe: it was started before the probe was loaded, or its launcher cleans the "
        "environment; start it from a shell that has sourced load_atb_probe.sh, and let LD_PRELOAD through"
    ),
    Absence.NO_CONFIG: (
        "has the probe but no ATB_DUMP_CONFIG: its launcher cleans the environment; let ATB_DUMP_CONFIG and "
        "ATB_OUTPUT_DIR through"
    ),
    Absence.OTHER_CONFIG: "has the probe for another config; see its ATB_DUMP_CONFIG",
    Absence.OWN_IMAGE: "has rules of its own by ATBPROBE_IMAGE, which no edit changes",
    Absence.WRONG_ABI: (
        "has the probe for the other C++ string ABI than its ATB, which never asks it for an operation; source ATB's "
        "set_env.sh, then load_atb_probe.sh again"
    ),
    Absence.OTHER_NAMESPACE: (
        "runs in another pid namespace (a container), where this watcher's rules do not get; source load_atb_probe.sh "
        "there"
    ),
    Absence.NOT_CALLED: "has the probe loaded and has not run an operation yet",
}


def absent_processes(config: str, attached: set[int]) -> list[HostProcess]:
    """Return the host processes of this user that are not among `attached` (pids), by pid.

    A process with the wrong ABI is among them even if it is attached: it asks those questions that have no string in
    them, and none of those that select an operation.
    """
    processes = (_look(pid, config) for pid in _own_pids())
    return [
        process
        for process in processes
        if process is not None and (process.pid not in attached or process.absence is Absence.WRONG_ABI)
    ]


def _own_pids() -> Iterator[int]:
    user = os.geteuid()
    for entry in sorted(Path("/proc").iterdir(), key=lambda entry: entry.name.rjust(20)):
        if entry.name.isdecimal():
            try:
                owner = entry.stat().st_uid
            except OSError:  # it has just ended
                continue
            if owner == user:
                yield int(entry.name)


def _look(pid: int, config: str) -> HostProcess | None:
    maps = _read(pid, "maps")
    host, probe = _HOST.search(maps), _PROBE.search(maps)
    if host is None:
        # Every program of the shell has the probe; only hosts are missed.
        return None
    variables = dict(entry.partition("=")[::2] for entry in _read(pid, "environ").split("\0") if "=" in entry)
    if probe is None:
        absence = Absence.NOT_LOADED
    elif variables.get("ATBPROBE_IMAGE"):
        absence = Absence.OWN_IMAGE
    elif not variables.get("ATB_DUMP_CONFIG"):
        absence = Absence.NO_CONFIG
    elif variables["ATB_DUMP_CONFIG"] != config:
        absence = Absence.OTHER_CONFIG
    elif _abi_of_host(maps) not in (None, probe[1]):
        absence = Absence.WRONG_ABI
    elif _pid_namespace(pid) not in (None, _pid_namespace("self")):
        absence = Absence.OTHER_NAMESPACE
    else:
        absence = Absence.NOT_CALLED
    return HostProcess(pid, _program(pid), absence)


def _abi_of_host(maps: str) -> str | None:
    """Return what the path of the host's library says of its ABI, as `cxx_abi_1/lib/libatb.so` does."""
    path = _HOST_PATH.search(maps)
    abi = _HOST_ABI.search(path[1]) if path is not None else None
    return None if abi is None else abi[1]


def _pid_namespace(pid: int | str) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:  # it has ended, or is not ours to see
        return None


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return "?"


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # it has ended, or is not ours to see
        return ""
