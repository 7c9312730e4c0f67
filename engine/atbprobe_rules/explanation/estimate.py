"""How many bytes of data a config writes, from the sizes of tensors that a catalogue knows.

One round is every selected op once, each with the largest tensors that it is known with. All rounds are that times
how often each set of rules is in force. What is known of a run that was recorded is counted as it was, execution by
execution, each with its own round and sizes. With filter_level 0 that is what another such run writes; a reference
in place of a tensor, `when`, and a rule that ends make it less, so that it is the most.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atbprobe_rules.catalogue.ops import Catalogue, Execution
from atbprobe_rules.evaluate import Masks, rules_by_round
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.rule_rounds import ENDLESS, RuleRounds
from atbprobe_rules.program import Program
from atbprobe_rules.selection import Tasks

_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Amount:
    """Tensors, and bytes of data in them."""

    tensors: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tensors + other.tensors, self.bytes + other.bytes)

    def times(self, count: int) -> Amount:
        return Amount(self.tensors * count, self.bytes * count)


@dataclass(frozen=True)
class Estimate:
    """What is written of the selected ops that have known sizes; `unsized` selected ops have none."""

    round: Amount
    """In a round in which all rules are in force."""
    total: Amount | None
    """In all rounds; None if there is no end. That `max_bytes` may end it earlier is not in it."""
    limited: int | None
    """The most bytes before all rules are ended by `max_bytes`, in all processes; None if that does not end them."""
    recorded: Amount | None
    """In the executions that the catalogue tells of; None if it tells of none with its round."""
    unsized: int
    op_bytes: npt.NDArray[np.int64]
    """Of each op the bytes in such a round."""


class TensorTable:
    """Tensors of executions as columns."""

    def __init__(self, executions: Sequence[Execution | None]) -> None:
        owner, is_output, sizes = [], [], []
        for index, execution in enumerate(executions):
            if execution is None:
                continue
            for side, tensors in enumerate((execution.inputs, execution.outputs)):
                for tensor in tensors:
                    if tensor.bytes is not None:
                        owner.append(index)
                        is_output.append(side)
                        sizes.append(min(tensor.bytes, 1 << 60))
        self.owner = np.array(owner, dtype=np.int64)
        self.is_output = np.array(is_output, dtype=bool)
        self.bytes = np.array(sizes, dtype=np.int64)

    def kept(self, program: Program, rules: Masks) -> npt.NDArray[np.bool_]:
        """Return which tensors are written as data, if the rules of `rules[owner]` select."""
        kept = np.zeros(len(self.owner), dtype=bool)
        masks = rules[self.owner]
        for bit, action in enumerate(program.actions):
            wanted = (masks >> np.uint64(bit) & np.uint64(1)).astype(bool)
            on_side = np.where(self.is_output, action["output_tasks"], action["input_tasks"]) & Tasks.TENSOR != 0
            limit = int(action["max_tensor_bytes"])
            kept |= wanted & on_side & ((self.bytes <= limit) if limit else True)
        return kept

    def amount(self, program: Program, rules: Masks) -> Amount:
        """Return how much is written."""
        kept = self.kept(program, rules)
        return Amount(int(np.count_nonzero(kept)), int(self.bytes[kept].sum(dtype=object)) if kept.any() else 0)


def estimate(selection: OpSelection, rounds: int | None = None) -> Estimate:
    """Count what the selected ops write; with `rounds`, a run has so many of them."""
    catalogue, program = selection.catalogue, selection.program
    largest = [max(op.executions, key=_bytes_of, default=None) for op in catalogue.ops]
    table = TensorTable(largest)
    kept = table.kept(program, selection.rules)
    op_bytes = np.zeros(len(catalogue), dtype=np.int64)
    np.add.at(op_bytes, table.owner[kept], table.bytes[kept])
    known = np.zeros(len(catalogue), dtype=bool)
    known[[index for index, execution in enumerate(largest) if execution is not None and _has_sizes(execution)]] = True
    return Estimate(
        table.amount(program, selection.rules),
        _total(table, selection, rounds),
        _limited(selection, op_bytes),
        _recorded(catalogue, selection, rounds),
        int(np.count_nonzero(selection.selected & ~known)),
        op_bytes,
    )


def _total(table: TensorTable, selection: OpSelection, rounds: int | None) -> Amount | None:
    program = selection.program
    limits = program.actions["next"].tolist()
    by_next = sum(1 << bit for bit, limit in enumerate(limits) if limit)
    total = Amount()
    for mask, count in _without(RuleRounds(program, rounds).counts(), by_next).items():
        amount = table.amount(program, selection.rules & np.uint64(mask))
        if amount.tensors and count >= ENDLESS:
            return None
        total += amount.times(count)
    # A rule with `next` takes its executions in rounds that nobody knows: as if no other rule took them.
    steps = sorted({0, *(limit for limit in limits if limit)})
    for before, after in itertools.pairwise(steps):
        if rounds is not None and before >= rounds:
            break
        taking = sum(1 << bit for bit, limit in enumerate(limits) if limit >= after)
        times = (after if rounds is None else min(after, rounds)) - before
        total += table.amount(program, selection.rules & np.uint64(taking)).times(times)
    return total


def _limited(selection: OpSelection, op_bytes: npt.NDArray[np.int64]) -> int | None:
    """Each process counts for itself, and finishes what is under way, which is at most a round."""
    program = selection.program
    together = int(program.program["max_bytes"][0])
    limits = []
    for bit, action in enumerate(program.actions):
        if (action["input_tasks"] | action["output_tasks"]) & Tasks.TENSOR and selection.selects(bit).any():
            limits.append(int(action["max_bytes"]))
    most = [together] if together else []
    most += [sum(limits)] if limits and all(limits) else []
    if not most:
        return None
    ops = selection.catalogue.ops
    processes = {ops[index].head for index in np.flatnonzero(op_bytes).tolist()}
    return min(most) * len(processes) + int(op_bytes.sum(dtype=object))


def _without(counts: Mapping[int, int], rules: int) -> dict[int, int]:
    """Return the counts of what is left of each mask without some rules."""
    found: dict[int, int] = {}
    for mask, count in counts.items():
        found[mask & ~rules] = found.get(mask & ~rules, 0) + count
    found.pop(0, None)
    return found


def _recorded(catalogue: Catalogue, selection: OpSelection, rounds: int | None) -> Amount | None:
    places = [
        (index, nth, execution)
        for index, op in enumerate(catalogue.ops)
        for nth, execution in enumerate(sorted(op.executions, key=_round_of))
        if execution.round is not None and (rounds is None or execution.round < rounds)
    ]
    if not places:
        return None
    numbers = np.array([_round_of(execution) for _, _, execution in places], dtype=np.uint64)
    rules = selection.rules[[index for index, _, _ in places]] & rules_by_round(selection.program, numbers)
    earlier = np.array([nth for _, nth, _ in places], dtype=np.uint64)
    for bit, limit in enumerate(selection.program.actions["next"].tolist()):
        if limit:
            rules[earlier >= limit] &= np.uint64(_ALL - (1 << bit))
    return TensorTable([execution for _, _, execution in places]).amount(selection.program, rules)


def _bytes_of(execution: Execution) -> int:
    return sum(tensor.bytes or 0 for tensor in (*execution.inputs, *execution.outputs))


def _has_sizes(execution: Execution) -> bool:
    return any(tensor.bytes is not None for tensor in (*execution.inputs, *execution.outputs))


def _round_of(execution: Execution) -> int:
    return -1 if execution.round is None else execution.round
