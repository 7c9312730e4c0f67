"""A program's tables in terms of its rules: what `explain --program` shows, as data. Masks become names of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from atbprobe_rules.automaton_description import AutomatonDescription, EmissionDescription
from atbprobe_rules.image import image_size
from atbprobe_rules.program import SECTIONS, AutomatonTables, Program, Records
from atbprobe_rules.selection import MAX_NUMBER, Tasks

POSITIONS_OF_WORD = 64
_LIMITS = ("next", "stop_after", "max_bytes", "max_tensor_bytes")
"""Numbers of an action that are no limit while they are 0."""


@dataclass(frozen=True)
class RuleDescription:
    """One rule. `selects`: "everything", "layers", or "terms": what its ids and names match."""

    name: str
    enabled: bool
    selects: str
    match: str
    save_child: bool
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    when: str | None
    limits: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the rule, with its condition and its limits only where it has them."""
        when = {} if self.when is None else {"when": self.when}
        return {
            "name": self.name,
            "enabled": self.enabled,
            "selects": self.selects,
            "match": self.match,
            "save_child": self.save_child,
            "in": list(self.inputs),
            "out": list(self.outputs),
            **when,
            **self.limits,
        }


@dataclass(frozen=True)
class NumbersDescription:
    """Numbers from `first` to `last`, every `step`-th, and the rules that they are for and that they are never for."""

    first: int
    last: int
    step: int
    rules: tuple[str, ...]
    never: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields; a last number that is the largest of 64 bits is null."""
        last = None if self.last == MAX_NUMBER else self.last
        return {"first": self.first, "last": last, "step": self.step, "rules": self.rules, "never": self.never}


@dataclass(frozen=True)
class PositionDescription:
    """One part of a path term: how it is reached, and what holds once it has matched (`accept`)."""

    number: int
    start: bool
    anchored: bool
    sticky: bool
    accept: EmissionDescription | None

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        accept = None if self.accept is None else self.accept.to_json()
        flags = {"start": self.start, "anchored": self.anchored, "sticky": self.sticky}
        return {"position": self.number, **flags, "accept": accept}


class ProgramDescription:
    """A program as its tables have it; nothing is known here of the config that they come from."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._record = program.program[0]
        self.dump_enable = bool(self._record["dump_enable"])
        self.filter_level = int(self._record["filter_level"])
        self.max_bytes = int(self._record["max_bytes"]) or None
        self.config_hash = program.config_hash.hex()
        self.total_bytes = image_size(program)

    @property
    def sections(self) -> list[tuple[str, int, int]]:
        """Name, number of records, and bytes of each section that is there."""
        arrays = [(kind.name.lower(), getattr(self._program, name)) for kind, (name, _) in SECTIONS.items()]
        return [(name, len(array), array.nbytes) for name, array in arrays if len(array)]

    @property
    def rules(self) -> list[RuleDescription]:
        """The rules in their order."""
        return [self._rule(bit, name) for bit, name in enumerate(self._program.rule_names)]

    def _rule(self, bit: int, name: str) -> RuleDescription:
        action = self._program.actions[bit]

        def has(field: str) -> bool:
            return bool(int(self._record[field]) >> bit & 1)

        selects = "everything" if has("select_all") else "layers" if has("select_layers") else "terms"
        return RuleDescription(
            name=name,
            enabled=has("enabled_rules"),
            selects=selects,
            match="all" if has("match_all") else "any",
            save_child=bool(action["save_child"]),
            inputs=_tasks(int(action["input_tasks"])),
            outputs=_tasks(int(action["output_tasks"])),
            when=self._program.conditions[bit],
            limits={field: int(action[field]) for field in _LIMITS if action[field]},
        )

    @property
    def rounds(self) -> list[NumbersDescription]:
        """The intervals of rounds, which cover all numbers, then the strides."""
        return self._numbers(self._program.rounds, self._program.round_strides)

    @property
    def devices(self) -> list[NumbersDescription]:
        """The same for devices."""
        return self._numbers(self._program.devices, self._program.device_strides)

    @property
    def unknown_device(self) -> tuple[str, ...]:
        """The rules for a process whose device is unknown."""
        return self._names(self._record["unknown_device"])

    def _numbers(self, intervals: Records, strides: Records) -> list[NumbersDescription]:
        borders = [*intervals["first"].tolist(), MAX_NUMBER + 1]
        found = [
            NumbersDescription(first, end - 1, 1, self._names(record["include"]), self._names(record["exclude"]))
            for (first, end), record in zip(pairwise(borders), intervals, strict=True)
        ]
        for record in strides:
            first, last, step = (int(record[field]) for field in ("first", "last", "step"))
            rules, never = self._names(record["include"]), self._names(record["exclude"])
            found.append(NumbersDescription(first, last, step, rules, never))
        return found

    @cached_property
    def ids(self) -> AutomatonDescription | None:
        """The automaton that reads id paths; None without terms."""
        return self._automaton(self._program.ids, with_positions=False)

    @cached_property
    def names(self) -> AutomatonDescription | None:
        """The automaton that reads names; None without terms."""
        return self._automaton(self._program.names, with_positions=True)

    def _automaton(self, tables: AutomatonTables, *, with_positions: bool) -> AutomatonDescription | None:
        if tables.class_count == 0:
            return None
        words = len(self._program.path_words) if with_positions else 0
        rows = self._program.name_positions.tolist()
        return AutomatonDescription(
            tables,
            tuple(
                self._emission(record, _bits(rows[index * words : (index + 1) * words]))
                for index, record in enumerate(tables.emissions)
            ),
        )

    @property
    def positions(self) -> list[PositionDescription]:
        """The positions of path terms up to the last one that any term occupies."""
        words = self._program.path_words
        marks = {field: set(_bits(words[field].tolist())) for field in ("start", "anchored", "sticky", "accept")}
        used = set().union(*marks.values())
        for emission in () if self.names is None else self.names.emissions:
            used.update(emission.positions)
        accepts = dict(zip(sorted(marks["accept"]), self._program.path_accepts, strict=True))
        return [
            PositionDescription(
                number,
                number in marks["start"],
                number in marks["anchored"],
                number in marks["sticky"],
                self._emission(accepts[number], ()) if number in accepts else None,
            )
            for number in range(max(used, default=-1) + 1)
        ]

    def _emission(self, record: np.void, positions: tuple[int, ...]) -> EmissionDescription:
        here, below, excluded = (self._names(record[field]) for field in ("here", "below", "excluded"))
        return EmissionDescription(here, below, excluded, positions)

    def _names(self, mask: int) -> tuple[str, ...]:
        return tuple(name for bit, name in enumerate(self._program.rule_names) if int(mask) >> bit & 1)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `explain --program --json` prints."""
        return {
            "config_hash": self.config_hash,
            "bytes": self.total_bytes,
            "dump_enable": self.dump_enable,
            "filter_level": self.filter_level,
            "max_bytes": self.max_bytes,
            "rules": [rule.to_json() for rule in self.rules],
            "rounds": [numbers.to_json() for numbers in self.rounds],
            "devices": [numbers.to_json() for numbers in self.devices],
            "unknown_device": self.unknown_device,
            "ids": None if self.ids is None else self.ids.to_json(),
            "names": None if self.names is None else self.names.to_json(),
            "positions": [position.to_json() for position in self.positions],
            "sections": [{"section": name, "records": records, "bytes": size} for name, records, size in self.sections],
        }


def _bits(words: Sequence[int]) -> tuple[int, ...]:
    """Return the places of the bits that are set, through words of 64, the low bit of the first word being 0."""
    return tuple(
        index * POSITIONS_OF_WORD + bit
        for index, word in enumerate(words)
        for bit in range(POSITIONS_OF_WORD)
        if word >> bit & 1
    )


def _tasks(mask: int) -> tuple[str, ...]:
    return tuple(name for task, name in ((Tasks.TENSOR, "tensor"), (Tasks.STATISTICS, "statistics")) if mask & task)
