"""Replays the record of a real host as that host would behave: a false answer ends the chain of questions it is in."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probed_host import ProbeCaller

RECORDS = Path(__file__).parent.parent / "data" / "host_traces"

CHAIN = {
    "IsSaveTensorInSpecificDir",
    "IsSaveTensorBefore",
    "IsSaveTensorAfter",
    "IsSaveTensorData",
    "SaveTensor",
    "IsSaveParam",
    "SaveParam",
}


def made_up_bytes(given: dict[str, Any]) -> bytes:
    """Return bytes for a SaveTensor call, of which a record has only the number: other ones for each file and pass."""
    pattern = hashlib.sha256(given["filePath"].encode()).digest()
    size: int = given["dataSize"]
    return (pattern * (size // len(pattern) + 1))[:size]


ARGUMENTS: dict[str, Callable[[dict[str, Any]], list[object]]] = {
    "IsExecuteCountInRange": lambda given: [given["executeCount"]],
    "IsSaveTensorInSpecificDir": lambda given: [given["tensorDir"]],
    "SaveTensor": lambda given: [
        given["format"],
        given["dtype"],
        given["dims"],
        given["filePath"],
        made_up_bytes(given).hex(),
    ],
    "SaveParam": lambda given: [given["param"], given["filePath"]],
    "ReportOperationGraph": lambda given: [given["opName"], given["graph"]],
}


@dataclass
class Saved:
    """What the host copied for one op execution, by (round, dir): the files it brought in each pass."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    param: bool = False


def read_record(name: str) -> list[dict[str, Any]]:
    text = (RECORDS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def calls_of_step(record: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    """Return the calls of one step of the model, which begins with the Setup of its first operation."""
    starts = [
        index for index, call in enumerate(record) if call["fn"] == "IsTensorNeedSave" and call["args"]["ids"] == [0]
    ]
    ends = [*starts[1:], len(record)]
    return record[starts[step] : ends[step]]


def replay(
    host: ProbeCaller,
    calls: list[dict[str, Any]],
    *,
    before_call: Callable[[int], None] = lambda index: None,
    round_offset: int = 0,
) -> dict[tuple[int, str], Saved]:
    """Make the calls of a record, those behind a refusal left out; return what was copied for each op execution.

    `before_call` is called with the index of each call. Rounds, and the numbers in directories, are `round_offset`
    more than recorded, so that one process can stand for many.
    """
    open_chain: dict[int, bool] = defaultdict(bool)
    rounds: dict[int, int] = {}
    saved: dict[tuple[int, str], Saved] = defaultdict(Saved)
    for index, call in enumerate(calls):
        before_call(index)
        name, thread = call["fn"], call["thr"]
        if name in CHAIN and not open_chain[thread]:
            continue
        given = _moved(call["args"], round_offset)
        answer = host.call(name, *ARGUMENTS.get(name, lambda _: [])(given), thread=thread)
        if name == "IsExecuteCountInRange":
            rounds[thread] = given["executeCount"]
        if name in CHAIN or name == "IsExecuteCountInRange":
            open_chain[thread] = answer is not False
        if name == "SaveTensor":
            directory, side, file = given["filePath"].rsplit("/", 2)
            kept = saved[rounds[thread], directory]
            (kept.before if side == "before" else kept.after).append(file)
        if name == "SaveParam":
            saved[rounds[thread], given["filePath"].rpartition("/")[0]].param = True
    return dict(saved)


def _moved(given: dict[str, Any], offset: int) -> dict[str, Any]:
    moved = dict(given)
    if "executeCount" in moved:
        moved["executeCount"] += offset
    for key in ("tensorDir", "filePath"):
        if key in moved:
            process, count, rest = moved[key].split("/", 2)
            moved[key] = f"{process}/{int(count) + offset}/{rest}"
    return moved
