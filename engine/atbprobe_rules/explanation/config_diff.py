"""Which ops of a catalogue another config gains and loses, and of which it keeps something else."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from atbprobe_rules.catalogue.ops import id_path
from atbprobe_rules.explanation.line_answers import task_names
from atbprobe_rules.explanation.report import SelectionReport
from atbprobe_rules.explanation.rule_rounds import Rounds


class Difference(enum.IntEnum):
    """What becomes of an op; the values are marks of a tree."""

    NONE = 0
    GAINED = 1
    LOST = 2
    CHANGED = 3


@dataclass(frozen=True)
class ConfigDiff:
    """From one config to another, on the same catalogue."""

    before: SelectionReport
    after: SelectionReport

    @cached_property
    def differences(self) -> list[Difference]:
        """Of each op what becomes of it; CHANGED if rounds or tasks are others."""
        found = []
        for old, new in zip(self._before, self._after, strict=True):
            if old == new:
                found.append(Difference.NONE)
            elif old is None:
                found.append(Difference.GAINED)
            else:
                found.append(Difference.LOST if new is None else Difference.CHANGED)
        return found

    @cached_property
    def marks(self) -> list[int]:
        """Of each op a number for its difference and what was and is kept; 0 without a difference."""
        numbers: dict[Hashable, int] = {}
        return [
            numbers.setdefault((old, new), len(numbers) + 1) if difference else 0
            for difference, old, new in zip(self.differences, self._before, self._after, strict=True)
        ]

    def count(self, difference: Difference) -> int:
        """How many ops have this difference."""
        return self.differences.count(difference)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``explain --diff --json`` prints."""
        ops: dict[str, list[dict[str, str]]] = {kind.name.lower(): [] for kind in Difference if kind}
        for op, difference in zip(self.before.catalogue.ops, self.differences, strict=True):
            if difference:
                ops[difference.name.lower()].append(
                    {
                        "process": op.head.decode("utf-8", "surrogateescape"),
                        "path": op.path.decode("utf-8", "surrogateescape"),
                        "id_path": id_path(op.path),
                    }
                )
        return {
            "config": self.before.config.source.filename,
            "other": self.after.config.source.filename,
            "operations": len(self.before.catalogue),
            "selected": [self.before.decided.count, self.after.decided.count],
            "bytes_of_a_round": [self.before.estimate.round.bytes, self.after.estimate.round.bytes],
            **ops,
        }

    def words(self, index: int) -> str:
        """Say what was and is kept of an op."""
        return " -> ".join(_words(kept[index]) for kept in (self._before, self._after))

    @cached_property
    def _before(self) -> Sequence[_Kept | None]:
        return _kept(self.before)

    @cached_property
    def _after(self) -> Sequence[_Kept | None]:
        return _kept(self.after)


@dataclass(frozen=True)
class _Kept:
    """What is kept of an op, and when. `next` is the most executions that a rule with `next` takes of it."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rounds: Rounds
    next: int


def _kept(report: SelectionReport) -> list[_Kept | None]:
    """Return what is kept of each op; None of those that are not selected."""
    rounds = report.decided.rule_rounds
    limits = report.config.program.actions["next"].tolist()
    by_rules: dict[int, _Kept] = {}
    inputs, outputs = (tasks.tolist() for tasks in report.decided.tasks)
    found: list[_Kept | None] = []
    for index, rules in enumerate(report.decided.rules.tolist()):
        if rules and rules not in by_rules:
            most = max((limit for bit, limit in enumerate(limits) if rules >> bit & 1), default=0)
            kept = _Kept(tuple(task_names(inputs[index])), tuple(task_names(outputs[index])), rounds.of(rules), most)
            by_rules[rules] = kept
        found.append(by_rules[rules] if rules else None)
    return found


def _words(kept: _Kept | None) -> str:
    if kept is None:
        return "not selected"
    when = f"next {kept.next}" if kept.next else kept.rounds.text()
    sides = [f"{side}: {'+'.join(tasks)}" for side, tasks in (("in", kept.inputs), ("out", kept.outputs)) if tasks]
    return f"{'; '.join(sides)}; {when}"
