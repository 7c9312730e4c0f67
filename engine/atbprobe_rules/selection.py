"""What a checked config selects: the meaning that `check` yields, `decide` reads and the compiler lowers.

A `Selection` is up to 64 rules. A rule selects an execution of an op when its rounds accept the round, its
devices accept the device, and its path terms accept the op path; the three are independent of each other,
which is what lets the compiled form intersect three masks. Everything here is immutable, already validated
and free of spellings: a single number is a range of one, `all` is a filter without limits, a word is a
prefix. Every term keeps the span of the text it came from, so that an explanation can point at it.
"""

from __future__ import annotations

import enum
import math
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
class ConditionTerm:
    """One alternative of `when`: the kinds of values that it asks an output for.

    With `above`, a bound that is finite and not negative, it takes every magnitude beyond it; an infinity is beyond
    every bound, so `infinity` is set then too. NaN has no magnitude. A complex number is NaN if either part is, and
    infinite if either part is.
    """

    nan: bool
    infinity: bool
    above: float | None
    span: Span

    def accepts(self, value: complex) -> bool:
        """Tell whether one element of an output is such a value."""
        number = complex(value)
        if math.isnan(number.real) or math.isnan(number.imag):
            return self.nan
        if math.isinf(number.real) or math.isinf(number.imag):
            return self.infinity
        return self.above is not None and math.hypot(number.real, number.imag) > self.above

    def covers(self, other: ConditionTerm) -> bool:
        """Tell whether every value that `other` accepts is accepted here."""
        if (other.nan and not self.nan) or (other.infinity and not self.infinity):
            return False
        return other.above is None or (self.above is not None and self.above <= other.above)


@dataclass(frozen=True)
class Condition:
    """What `when` says: an op is kept if any element of any of its outputs is accepted by any of the terms."""

    terms: tuple[ConditionTerm, ...]

    @property
    def nan(self) -> bool:
        """Whether a NaN is enough."""
        return any(term.nan for term in self.terms)

    @property
    def infinity(self) -> bool:
        """Whether an infinity is enough."""
        return any(term.infinity for term in self.terms)

    @property
    def above(self) -> float | None:
        """The smallest of the bounds; a magnitude beyond it is enough."""
        return min((term.above for term in self.terms if term.above is not None), default=None)

    @property
    def text(self) -> str:
        """The condition as it is written in a config, without what is surplus."""
        return condition_text(self.nan, self.infinity, self.above)


def condition_text(nan: bool, infinity: bool, above: float | None) -> str:
    """Return the shortest way to write a condition; an `infinity` beside `above` is not mentioned."""
    if nan and infinity and above is None:
        return "nonfinite"
    words = ["nan" if nan else "", "inf" if infinity and above is None else ""]
    if above is not None:
        words.append(f"abs > {repr(above).removesuffix('.0')}")
    return "|".join(filter(None, words))


@dataclass(frozen=True)
class Rule:
    """One rule. `number` counts from 1 in the order of the file and names a rule that has no `name`.

    `tasks_in` and `tasks_out` say what is kept of inputs (before the op) and outputs (after it); NONE: that
    side is not wanted. A rule without terms of either kind (exclusions aside) selects the layer-level
    operations, with `save_child` every op. With `match_all` both kinds must accept the op, otherwise one of
    them is enough. `span` is the object in the file that the rule was written as.

    With `next`, at least 1, the rule takes of each op only that many executions, counted by each process from the
    moment in which it took the rules; `rounds` is then unlimited.

    The rest decides over what was selected, in each process by itself. With `when` only ops whose outputs meet the
    condition are kept. The rule ends, and selects nothing more, after `stop_after` ops were kept or `max_bytes` bytes
    of data; the op under way is finished. Of tensors of more than `max_tensor_bytes` bytes it keeps statistics in
    place of data. All of these are at least 1; None: no limit.
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
    when: Condition | None = None
    stop_after: int | None = None
    max_bytes: int | None = None
    max_tensor_bytes: int | None = None

    @property
    def label(self) -> str:
        """What the rule is called in every report: its name, else its number."""
        return self.name if self.name is not None else str(self.number)

    @property
    def keeps_data(self) -> bool:
        """Whether data are kept of any tensor, and not statistics alone."""
        return bool((self.tasks_in | self.tasks_out) & Tasks.TENSOR)

    @property
    def keeps_all_it_selects(self) -> bool:
        """Whether there is neither a condition nor a limit on what is kept of the ops that it selects."""
        limits = (self.stop_after, self.max_bytes, self.max_tensor_bytes)
        return self.when is None and all(limit is None for limit in limits)


@dataclass(frozen=True)
class Selection:
    """A whole config. With `dump_enable` false nothing is selected, whatever the rules say.

    `filter_level` is 0, 1, 2 or 3. There are 1 to `MAX_RULES` rules; a flat config is one rule. All rules end when they
    together have kept `max_bytes` bytes of data, at least 1; None: no limit. In a flat config that is the rule's own.
    """

    dump_enable: bool
    filter_level: int
    rules: tuple[Rule, ...]
    max_bytes: int | None = None
