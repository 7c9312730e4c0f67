"""Which ops of a catalogue a program selects, in whatever round: all of them decided at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from atbprobe_rules.catalogue.ops import Catalogue
from atbprobe_rules.evaluate import Masks, rules_by_device, rules_by_path
from atbprobe_rules.explanation.rule_rounds import Rounds, RuleRounds
from atbprobe_rules.op_texts import Flags, OpPaths, Texts
from atbprobe_rules.program import Program

BATCH = 65_536


@dataclass(frozen=True)
class OpSelection:
    """What a program says of the ops of a catalogue; arrays have one element for each op."""

    catalogue: Catalogue
    program: Program
    rules: Masks
    """The rules that select the op in at least one round."""
    rule_rounds: RuleRounds

    @staticmethod
    def of(program: Program, catalogue: Catalogue) -> OpSelection:
        """Decide all ops."""
        rule_rounds = RuleRounds(program)
        live = np.uint64(rule_rounds.live_rules())
        return OpSelection(catalogue, program, taking_rules(program, catalogue) & live, rule_rounds)

    @cached_property
    def selected(self) -> Flags:
        """Whether any rule selects the op."""
        chosen: Flags = self.rules != 0
        return chosen

    @cached_property
    def tasks(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """What is kept of inputs and of outputs, as masks of tasks, in a round in which all of the rules select."""
        inputs, outputs = (np.zeros(len(self.catalogue), dtype=np.uint32) for _ in range(2))
        for bit, action in enumerate(self.program.actions):
            selects = self.selects(bit)
            inputs[selects] |= action["input_tasks"]
            outputs[selects] |= action["output_tasks"]
        return inputs, outputs

    @property
    def count(self) -> int:
        """How many ops are selected."""
        return int(np.count_nonzero(self.rules))

    @property
    def rounds(self) -> Rounds:
        """The rounds in which any of the rules that select an op here is in force."""
        used = int(np.bitwise_or.reduce(self.rules, initial=np.uint64(0)))
        return self.rule_rounds.of(used)

    def selects(self, bit: int) -> Flags:
        """Return of each op whether this rule selects it."""
        chosen: Flags = (self.rules >> np.uint64(bit) & np.uint64(1)).astype(bool)
        return chosen

    def rule_names(self, mask: int) -> list[str]:
        """Return the names of the rules of a mask."""
        return [name for bit, name in enumerate(self.program.rule_names) if mask >> bit & 1]


def taking_rules(program: Program, catalogue: Catalogue) -> Masks:
    """Return of each op the rules that take its device and path, whatever the round; none while dumping is off."""
    rules = np.zeros(len(catalogue), dtype=np.uint64)
    for start in range(0, len(catalogue), BATCH):
        ops = catalogue.ops[start : start + BATCH]
        paths = OpPaths.of(Texts.of([op.head + b"/0/" + op.path for op in ops]))
        rules[start : start + len(ops)] = rules_by_path(program, paths) & rules_by_device(program, paths)
    return rules
