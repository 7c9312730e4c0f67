"""All that is said of a config: its rules in sentences and, with a catalogue, which ops they select."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from atbprobe_rules.catalogue.ops import Catalogue, id_path
from atbprobe_rules.check import CheckedConfig
from atbprobe_rules.diagnostics import Source
from atbprobe_rules.explanation.estimate import Amount, Estimate, estimate
from atbprobe_rules.explanation.line_answers import task_names
from atbprobe_rules.explanation.near_misses import Miss, NearMisses
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.rule_rounds import Rounds, RuleRounds
from atbprobe_rules.explanation.sentences import RuleSentence, rule_sentence
from atbprobe_rules.explanation.term_matches import TermMatches
from atbprobe_rules.program import Program
from atbprobe_rules.selection import Selection


@dataclass(frozen=True)
class ConfigReport:
    """A config that is taken, with its program."""

    checked: CheckedConfig
    program: Program

    @property
    def selection(self) -> Selection:
        """The rules."""
        return self.checked.require()

    @property
    def source(self) -> Source:
        """The text of the file."""
        return self.checked.source

    @cached_property
    def sentences(self) -> list[RuleSentence]:
        """Each rule in words."""
        rounds = RuleRounds(self.program)
        return [rule_sentence(rule, rounds.of(1 << bit)) for bit, rule in enumerate(self.selection.rules)]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``explain --json`` prints."""
        return {
            "config": self.source.filename,
            "dump_enable": self.selection.dump_enable,
            "filter_level": self.selection.filter_level,
            "max_bytes": self.selection.max_bytes,
            "rules": [sentence.to_json() for sentence in self.sentences],
            "diagnostics": [diagnostic.to_json(self.source) for diagnostic in self.checked.diagnostics],
        }


@dataclass(frozen=True)
class FreeSpace:
    """What is free where the probe writes."""

    folder: Path
    bytes: int

    @staticmethod
    def of_output() -> FreeSpace:
        """Look at the file system of $ATB_OUTPUT_DIR; a folder that is not there yet is made in the next above."""
        folder = Path(os.environ.get("ATB_OUTPUT_DIR") or ".").absolute()
        while not folder.is_dir():
            folder = folder.parent
        return FreeSpace(folder, shutil.disk_usage(folder).free)


@dataclass(frozen=True)
class SelectionReport:
    """A config on a catalogue. With `run_rounds`, a run has so many rounds."""

    config: ConfigReport
    catalogue: Catalogue
    run_rounds: int | None = None

    @cached_property
    def decided(self) -> OpSelection:
        """Which ops are selected."""
        return OpSelection.of(self.config.program, self.catalogue)

    @cached_property
    def matches(self) -> TermMatches:
        """What each term matches."""
        return TermMatches(self.config.selection, self.catalogue)

    @cached_property
    def estimate(self) -> Estimate:
        """How many bytes are written."""
        return estimate(self.decided, self.run_rounds)

    @cached_property
    def free_space(self) -> FreeSpace:
        """What is free where they are written."""
        return FreeSpace.of_output()

    @cached_property
    def misses(self) -> list[Miss]:
        """Why there are rules that select nothing."""
        return NearMisses(self.config.selection, self.decided, self.matches).all()

    @property
    def rounds(self) -> Rounds:
        """The rounds in which anything is selected."""
        return self.decided.rounds

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``explain --on --json`` prints."""
        found = self.estimate
        return {
            **self.config.to_json(),
            "sources": list(self.catalogue.sources),
            "notes": list(self.catalogue.notes),
            "operations": len(self.catalogue),
            "selected": self.decided.count,
            "rounds": {"first": list(self.rounds.first), "count": self.rounds.count},
            "bytes": {
                "round": _amount(found.round),
                "total": _amount(found.total),
                "limited": found.limited,
                "recorded": _amount(found.recorded),
                "operations_without_sizes": found.unsized,
                "free": self.free_space.bytes,
            },
            "nearest": [
                {"rule": miss.rule.label, "reason": miss.reason, "term": None if miss.term is None else miss.term.text}
                for miss in self.misses
            ],
            "ops": list(self.ops()),
        }

    def ops(self) -> Iterator[dict[str, Any]]:
        """Yield of each op what is said of it."""
        inputs, outputs = (tasks.tolist() for tasks in self.decided.tasks)
        sizes = self.estimate.op_bytes.tolist()
        for index, (op, rules) in enumerate(zip(self.catalogue.ops, self.decided.rules.tolist(), strict=True)):
            yield {
                "process": op.head.decode("utf-8", "surrogateescape"),
                "path": op.path.decode("utf-8", "surrogateescape"),
                "id_path": id_path(op.path),
                "name_known": not op.is_plugin,
                "selected": rules != 0,
                "rules": self.decided.rule_names(rules),
                "in": task_names(inputs[index]),
                "out": task_names(outputs[index]),
                "bytes": sizes[index],
            }


def _amount(amount: Amount | None) -> dict[str, int] | None:
    return None if amount is None else {"tensors": amount.tensors, "bytes": amount.bytes}
