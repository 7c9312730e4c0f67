"""The host of tests/native/swap_stress.cpp: threads that execute, and save, as fast as they can."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from probed_host import Host, Probed


class Counts(NamedTuple):
    """Executions, how many of them were granted whole, without a beginning, without an end; and saved tensors."""

    executions: int
    whole: int
    headless: int
    cut: int
    saves: int


class SwapHost(Host):
    """See tests/native/swap_stress.cpp."""

    def __init__(
        self, probed: Probed, program: Path, environment: dict[str, str], save_every: int, threads: int = 8
    ) -> None:
        super().__init__(program, environment, [str(threads), str(save_every)])
        self._probed = probed

    def __enter__(self) -> SwapHost:
        return self

    def counts(self) -> Counts:
        self.send("\n")
        return Counts(*map(int, self.read_line().split()))

    def stop(self) -> Counts:
        """End the threads, but not the process, and count what they have done in all."""
        self.send("stop\n")
        return Counts(*map(int, self.read_line().split()))

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def wait_for_executions(self, count: int) -> None:
        """Wait until so many more have been executed."""
        until = self.counts().executions + count
        while self.counts().executions < until:
            os.sched_yield()
