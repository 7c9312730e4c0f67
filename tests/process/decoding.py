"""Models that decode on their own, as servers do, until the test is through with them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probed_host import WAIT_SECONDS, Probed, wait_until

INTERVAL_MS = 20


@dataclass
class Decoder:
    """One of them; its tensors as it computed them are in `expected`, its own counts in `report` once it has ended."""

    device: int
    process: subprocess.Popen[str]
    expected: Path
    report_file: Path
    messages: str = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.report_file.read_text(encoding="utf-8"))
        return report

    def end(self) -> None:
        self.process.terminate()
        _, self.messages = self.process.communicate(timeout=WAIT_SECONDS)


@contextlib.contextmanager
def decoding(probed: Probed, count: int, *options: str) -> Iterator[list[Decoder]]:
    """Run so many models, each on a device of its own, and wait until all of them execute operations."""
    decoders = [_start(probed, device, options) for device in range(count)]
    try:
        _wait_until_they_execute(probed, {decoder.pid for decoder in decoders})
        yield decoders
        for decoder in decoders:
            decoder.end()
            assert decoder.process.returncode == 0, decoder.messages
    finally:
        for decoder in decoders:
            if decoder.process.poll() is None:
                decoder.process.kill()
            decoder.process.communicate(timeout=WAIT_SECONDS)


def _start(probed: Probed, device: int, options: tuple[str, ...]) -> Decoder:
    expected = probed.folder / f"expected-{device}"
    report = probed.folder / f"report-{device}.json"
    command = [str(probed.native_file(f"standin_model_abi{probed.abi}")), "--forever", "--quiet"]
    command += ["--device", str(device), "--interval-ms", str(INTERVAL_MS), "--report", str(report), *options]
    process = subprocess.Popen(
        command, env=probed.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    return Decoder(device, process, expected, report)


def _wait_until_they_execute(probed: Probed, pids: set[int]) -> None:
    with probed.channel() as channel:
        wait_until(lambda: pids <= {process.pid for process in channel.live_processes() if process.ops_seen > 0})
