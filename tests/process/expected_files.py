"""What must be on disk after a run of the stand-in's model: it says itself what it computed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probed_host import Probed

from atbprobe_rules.check import check_config
from atbprobe_rules.decide import decide
from atbprobe_rules.selection import Selection, Tasks

STEPS = 3


@dataclass(frozen=True)
class Expected:
    """A tensor that the stand-in computed."""

    path: str
    round: int
    dtype: int
    format: int
    dims: str
    data: bytes

    @property
    def dir(self) -> str:
        return self.path.rsplit("/", 2)[0]

    @property
    def is_input(self) -> bool:
        return self.path.rsplit("/", 2)[1] == "before"

    @property
    def file(self) -> bytes:
        header = (
            f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(self.data)}\nformat={self.format}\n"
            f"dtype={self.dtype}\ndims={self.dims}\n$Object.data=0,{len(self.data)}\n$End=1\n"
        )
        return header.encode() + self.data


def read_expected(folder: Path) -> tuple[list[Expected], dict[str, bytes]]:
    """Return the tensors and the parameters (path → content) of a run."""
    tensors = []
    for line in (folder / "tensors.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        data = (folder / f"{entry['path']}.raw").read_bytes()
        tensors.append(Expected(entry["path"], entry["round"], entry["dtype"], entry["format"], entry["dims"], data))
    params = {
        str(path.relative_to(folder))[: -len(".raw")]: path.read_bytes() + b"\n"
        for path in folder.rglob("op_param.json.raw")
    }
    return tensors, params


def tasks_of(selection: Selection, tensor: Expected) -> Tasks:
    decision = decide(selection, tensor.round, tensor.dir)
    return decision.tasks_in if tensor.is_input else decision.tasks_out


def expected_files(rules: dict[str, Any], folder: Path) -> dict[str, bytes]:
    """Return what must be there except the CSV files: path → content."""
    selection = check_config(json.dumps(rules).encode(), "config.json").require()
    tensors, params = read_expected(folder)
    files = {tensor.path: tensor.file for tensor in tensors if Tasks.TENSOR in tasks_of(selection, tensor)}
    begun = {tensor.dir for tensor in tensors if tasks_of(selection, tensor)}
    return files | {path: data for path, data in params.items() if path.rpartition("/")[0] in begun}


def run_model(probed: Probed, rules: dict[str, Any], *options: str) -> Path:
    """Run the model under the rules from its first step on; return the folder of what it computed."""
    expectation = probed.folder / "expected"
    probed.publish(rules)
    with probed.model("--layers", "1", "--device", "3", "--expect", str(expectation), *options) as model:
        model.step(STEPS)
    return expectation
