"""What one process keeps of a run: the plain meaning of conditions and limits, one execution after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from atbprobe_rules.decide import decide
from atbprobe_rules.selection import Rule, Selection, Tasks


@dataclass(frozen=True)
class Tensor:
    """Its length in bytes, and some of the values in it."""

    size: int
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Execution:
    """One execution of an op; `earlier` is how many of that op came before."""

    round: int
    directory: bytes
    earlier: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def kept_in_run(selection: Selection, executions: Iterable[Execution]) -> list[tuple[Tasks, ...]]:
    """Return of each execution what is kept of its inputs and outputs, tensor by tensor."""
    operations: Counter[int] = Counter()
    data: Counter[int] = Counter()
    data_of_all = 0

    def has_ended(rule: Rule) -> bool:
        return (
            (rule.stop_after is not None and operations[rule.number] >= rule.stop_after)
            or (rule.max_bytes is not None and data[rule.number] >= rule.max_bytes)
            or (selection.max_bytes is not None and data_of_all >= selection.max_bytes)
        )

    kept = []
    for execution in executions:
        selecting = decide(selection, execution.round, execution.directory, execution.earlier).rules
        keeping = [
            rule
            for rule in selection.rules
            if rule.number in selecting and not has_ended(rule) and _meets(rule, execution.outputs)
        ]
        tensors = [(tensor, True) for tensor in execution.inputs] + [(tensor, False) for tensor in execution.outputs]
        tasks = []
        for tensor, is_input in tensors:
            of_all = Tasks.NONE
            for rule in keeping:
                of_rule = _tasks(rule, tensor, is_input=is_input)
                data[rule.number] += tensor.size if of_rule & Tasks.TENSOR else 0
                of_all |= of_rule
            data_of_all += tensor.size if of_all & Tasks.TENSOR else 0
            tasks.append(of_all)
        operations.update(rule.number for rule in keeping)
        kept.append(tuple(tasks))
    return kept


def _meets(rule: Rule, outputs: Iterable[Tensor]) -> bool:
    if rule.when is None:
        return True
    return any(term.accepts(value) for term in rule.when.terms for output in outputs for value in output.values)


def _tasks(rule: Rule, tensor: Tensor, *, is_input: bool) -> Tasks:
    tasks = rule.tasks_in if is_input else rule.tasks_out
    if rule.max_tensor_bytes is None or tensor.size <= rule.max_tensor_bytes or not tasks & Tasks.TENSOR:
        return tasks
    return Tasks.STATISTICS
