"""What a config selects, as data: each op of a list decided by the compiled program, as a process would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.evaluate import decide_many
from atbprobe_rules.op_path import execution_key
from atbprobe_rules.program import Program
from atbprobe_rules.selection import MAX_NUMBER, Tasks

_BATCH = 65_536

_TASK_NAMES = ((Tasks.TENSOR, "tensor"), (Tasks.STATISTICS, "statistics"))


class OpsError(AtbprobeError):
    """A line of a list of ops cannot be read."""


@dataclass(frozen=True)
class Op:
    """One execution of an op. `round` is None if neither a number was given nor `dir` holds one."""

    round: int | None
    round_from: str
    dir: str

    @classmethod
    def from_line(cls, line: str) -> Op:
        """Read ``round<TAB>dir`` or a plain ``dir``, whose own number is then taken; raises OpsError."""
        first, tab, rest = line.partition("\t")
        if tab:
            number = _number(first)
            if number is None:
                raise OpsError(f"{first!r} before the tab is not a round: write round<TAB>dir")
            return cls(number, "argument", rest)
        steps = line.split("/", 2)
        return cls(_number(steps[1]) if len(steps) > 1 else None, "dir", line)


@dataclass(frozen=True)
class Explanation:
    """What the rules say of one op: the names of those that select it, and the tasks for each side.

    `conditions` has for each of these rules what its `when` asks of outputs, as a config writes it, or None. The tasks
    are those of an execution that meets all of them, and of rules that no limit has ended yet.
    """

    op: Op
    rules: tuple[str, ...]
    conditions: tuple[str | None, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def selected(self) -> bool:
        """Whether any rule selects the op."""
        return bool(self.rules)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``explain --ops --json`` prints."""
        return {
            "round": self.op.round,
            "round_from": self.op.round_from,
            "dir": self.op.dir,
            "selected": self.selected,
            "rules": list(self.rules),
            "in": list(self.inputs),
            "out": list(self.outputs),
        }


class ExecutionCount:
    """How often each op was met so far; each line of a list is one execution."""

    def __init__(self) -> None:
        self._met: Counter[bytes] = Counter()

    def take(self, directory: bytes) -> int:
        """Count one execution of the op that `directory` names, and return how many came before it."""
        key = execution_key(directory)
        earlier = self._met[key]
        self._met[key] = earlier + 1
        return earlier


def explain_ops(program: Program, ops: Iterable[Op]) -> Iterator[Explanation]:
    """Decide each op, in order, the rules taken before the first of them. One without a round is not selected.

    Nothing is known here of values and sizes: conditions are taken as met, and no rule ends.
    """
    names, conditions = program.rule_names, program.conditions
    count = ExecutionCount() if program.actions["next"].any() else None
    remaining = iter(ops)
    while batch := list(islice(remaining, _BATCH)):
        rounds = np.array([op.round or 0 for op in batch], dtype=np.uint64)
        dirs = [op.dir.encode("utf-8", "surrogateescape") for op in batch]
        earlier = None if count is None else [count.take(directory) for directory in dirs]
        decisions = decide_many(program, rounds, dirs, earlier)
        for op, decision in zip(batch, decisions, strict=True):
            rules = 0 if op.round is None else int(decision["rules"])
            bits = [bit for bit in range(len(names)) if rules >> bit & 1]
            yield Explanation(
                op,
                tuple(names[bit] for bit in bits),
                tuple(conditions[bit] for bit in bits),
                _tasks(int(decision["input_tasks"]) if rules else 0),
                _tasks(int(decision["output_tasks"]) if rules else 0),
            )


def _tasks(mask: int) -> tuple[str, ...]:
    return tuple(name for task, name in _TASK_NAMES if mask & task)


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()):
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(MAX_NUMBER)):
        return None
    number = int(digits)
    return number if number <= MAX_NUMBER else None
