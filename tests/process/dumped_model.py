"""Whole runs of the stand-in's model, dumped by the preloaded library: what comparing dumps is tested on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probed_host import WAIT_SECONDS, NativeFile, Probed, image_of

Rules = dict[str, Any]
EVERYTHING: Rules = {
    "dump_enable": True,
    "task": "all",
    "exec_range": "all",
    "save_child": True,
    "filter_level": 0,
}
SMALL = ["--layers", "1", "--hidden", "16", "--heads", "2", "--feed-forward", "32", "--vocabulary", "32"]
SMALL += ["--prompt-tokens", "4"]


@dataclass
class DumpedModel:
    """Runs of one model, each into a folder of its own below `folder`."""

    folder: Path
    native_file: NativeFile
    model: list[str] = field(default_factory=lambda: list(SMALL))
    abi: int = 1
    count: int = 0

    def dump(self, *options: str, rules: Rules | None = None) -> Path:
        """Run the model with options over its own, under rules in force from the start; return atb_dump_data."""
        self.count += 1
        place = Probed(self.folder / str(self.count), self.native_file, abi=self.abi)
        place.folder.mkdir(parents=True)
        place.write(EVERYTHING | (rules or {}))
        image = place.folder / "rules.image"
        image.write_bytes(image_of(place.config))
        done = subprocess.run(
            [self.native_file(f"standin_model_abi{self.abi}"), "--quiet", *self.model, *options],
            env=place.environment() | {"ATBPROBE_IMAGE": str(image)},
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return place.folder / "atb_dump_data"
