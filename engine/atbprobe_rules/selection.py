"""What a checked config selects: the meaning that `check` yields, `decide` reads and the compiler lowers.

A `Selection` is up to 64 rules. A rule selects an execution of an op when its rounds accept the round, its
devices accept the device, and its path terms accept the op path; the three are independent of each other,
which is what lets the compiled form intersect three masks. Everything here is immutable, already validated
and free of spellings: a single number is a range of one, `all` is a filter without limits, a word is a
prefix. Every term keeps the span of the text it came from, so that an explanation can point at it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from atbprobe_rules.diagnostics import Span

MAX_NUMBER = 2**64 - 1
"""Largest round, id and device number: the host counts in `uint64_t`."""

MAX_RULES = 64
"""Rules are bits of one 64-bit mask in the compiled form."""


class Tasks(enum.IntFlag):
    """What is kept of a tensor. The values are those of the task masks in the compiled form."""

    NONE = 0
    TENSOR = 1
    STATISTICS = 2


@dataclass(frozen=True)
class NumberRange:
    """first, first + step, ... up to last; first <= last <= MAX_NUMBER and step >= 1."""

    first: int
    last: int
    step: int
    span: Span

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last and (number - self.first) % self.step == 0


@dataclass(frozen=True)
class NumberFilter:
    """A set of rounds or devices.

    `unlimited` starts from everything, numbers and the unknown device alike, and `included` is then empty;
    otherwise the filter starts from the union of `included`, which may be empty (`"exec_range": "none"`).
    `excluded` is taken away in both cases and wins over `included`. Ranges may overlap and come in the order
    in which they were written.
    """

    unlimited: bool
    included: tuple[NumberRange, ...] = ()
    excluded: tuple[NumberRange, ...] = ()

    def accepts(self, number: int | None) -> bool:
        """Tell whether `number` is in the set; None is the unknown device, which only `unlimited` accepts."""
        if number is None:
            return self.unlimited
        if any(number in numbers for numbers in self.excluded):
            return False
        return self.unlimited or any(number in numbers for numbers in self.included)


@dataclass(frozen=True)
class IdTerm:
    """One id path of `ids`, from the layer-level operation on: component i has its id in `components[i]`.

    `subtree` accepts everything below as well, for this term alone (save_child does so for all terms of a
    rule). `excluded` turns the term into an exclusion of the op and of all below it.
    """

    components: tuple[NumberRange, ...]
    subtree: bool
    excluded: bool
    span: Span


@dataclass(frozen=True)
class Literal:
    """Bytes of a name that must be there; UTF-8 with the ASCII letters in lower case."""

    folded: bytes


@dataclass(frozen=True)
class AnyCharacters:
    """`*`: any number of bytes within one component."""


@dataclass(frozen=True)
class AnyCharacter:
    """`?`: one UTF-8 character."""


@dataclass(frozen=True)
class CharacterSet:
    """`[...]`: one UTF-8 character with its code point in (`negated`: in none) of the closed `ranges`."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool

    def __contains__(self, character: str) -> bool:
        """Tell whether the set takes a character, of an ASCII letter either case."""
        spellings = (character, character.swapcase()) if character.isascii() else (character,)
        held = any(first <= ord(spelling) <= last for first, last in self.ranges for spelling in spellings)
        return held != self.negated


NameAtom = Literal | AnyCharacters | AnyCharacter | CharacterSet


@dataclass(frozen=True)
class NamePart:
    """A pattern for the name of one component, or for its beginning (see `NameTerm.prefix`); never empty."""

    atoms: tuple[NameAtom, ...]
    span: Span


@dataclass(frozen=True)
class AnyDepth:
    """`**`: any number of components."""

    span: Span


@dataclass(frozen=True)
class NameTerm:
    """One value of `op_name`: `parts` match consecutive components of an op path.

    `anchored` terms start at the layer-level operation, others at any component. `prefix` says that the last
    part need only be a prefix of its component's name; all other parts are compared whole. Without save_child
    the op itself must be the component that the last part matches; with it that component may be the op or
    any one above it. `excluded` turns the term into an exclusion of the op and of all below it.
    """

    parts: tuple[NamePart | AnyDepth, ...]
    anchored: bool
    prefix: bool
    excluded: bool
    span: Span


@dataclass(frozen=True)
class Rule:
    """One rule. `number` counts from 1 in the order of the file and names a rule that has no `name`.

    `tasks_in` and `tasks_out` say what is kept of inputs (before the op) and outputs (after it); NONE: that
    side is not wanted. A rule without terms of either kind (exclusions aside) selects the layer-level
    operations, with `save_child` every op. With `match_all` both kinds must accept the op, otherwise one of
    them is enough. `span` is the object in the file that the rule was written as.

    With `next`, at least 1, the rule takes of each op only that many executions, counted by each process from the
    moment in which it took the rules; `rounds` is then unlimited.
    """

    number: int
    name: str | None
    tasks_in: Tasks
    tasks_out: Tasks
    rounds: NumberFilter
    devices: NumberFilter
    ids: tuple[IdTerm, ...]
    names: tuple[NameTerm, ...]
    save_child: bool
    match_all: bool
    span: Span
    next: int | None = None

    @property
    def label(self) -> str:
        """What the rule is called in every report: its name, else its number."""
        return self.name if self.name is not None else str(self.number)


@dataclass(frozen=True)
class Selection:
    """A whole config. With `dump_enable` false nothing is selected, whatever the rules say.

    `filter_level` is 0, 1, 2 or 3. There are 1 to `MAX_RULES` rules; a flat config is one rule.
    """

    dump_enable: bool
    filter_level: int
    rules: tuple[Rule, ...]
