"""Fresh processes whose threads start their first operation together; see tests/native/lost_setups.cpp."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from probed_host import WAIT_SECONDS, Probed

THREADS = 8


@dataclass(frozen=True)
class Start:
    """What became of the first operations of one process."""

    lost_at_setup: int
    lost_at_execute: int
    died: bool

    @property
    def is_good(self) -> bool:
        return (self.lost_at_setup, self.lost_at_execute, self.died) == (0, 0, False)


def start_together(place: Probed, processes: int) -> list[Start]:
    """Start that many processes one after the other, under the library and the rules of `place`."""
    program = place.native_file(f"lost_setups_abi{place.abi}")
    done = subprocess.run(
        [program, str(processes), str(THREADS)],
        env=place.environment(),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=WAIT_SECONDS,
        check=True,
    )
    lines = done.stdout.splitlines()[-processes:]
    assert len(lines) == processes
    return [_start(*line.split()) for line in lines]


def _start(at_setup: str, at_execute: str, died: str = "") -> Start:
    return Start(int(at_setup), int(at_execute), died == "died")
