"""Runs of the stand-in model, with the recorder preloaded where a record of the probe's calls is wanted."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The model that the records of the real host were made with.
RECORDED_SHAPE = [
    "--always-prefill",
    *("--vocabulary", "32"),
    *("--hidden", "16"),
    *("--heads", "2"),
    *("--feed-forward", "32"),
    *("--prompt-tokens", "4"),
    *("--token-ids", "int32"),
    *("--logits", "f16"),
]


@dataclass(frozen=True)
class StandIn:
    """One build of the stand-in, by its std::string ABI."""

    model: Path
    recorder: Path

    @classmethod
    def find(cls, native_file: Callable[[str], Path], abi: int) -> StandIn:
        return cls(native_file(f"standin_model_abi{abi}"), native_file(f"libatb_recorder_abi{abi}.so"))

    def run(self, *options: str, environment: dict[str, str] | None = None) -> str:
        """Standard output of a run that must succeed."""
        done = subprocess.run(
            [self.model, *options],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{done.returncode}: {done.stderr}"
        return done.stdout

    def report(self, *options: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
        """The counts that the stand-in keeps itself."""
        report: dict[str, Any] = json.loads(self.run("--quiet", "--report", "-", *options, environment=environment))
        return report

    def record(self, file: Path, answers: str, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """All calls of a run, from its first to the last one at exit, and the report."""
        environment = {
            "LD_PRELOAD": str(self.recorder),
            "STANDIN_RECORD_FILE": str(file),
            "STANDIN_RECORD_ANSWERS": answers,
        }
        report = self.report(*options, environment=environment)
        return read_record(file), report


def read_record(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
