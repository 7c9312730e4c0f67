"""A compiled selection as tables: the records of the program image, as numpy arrays.

The record types stand here and, as C++ structs, in interposer/program_format.h, with the same names of
fields. All are little-endian and without gaps. Rules are bits: the rule with number r is bit r - 1 of every
mask.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atbprobe_rules.automaton import Automaton
from atbprobe_rules.selection import MAX_NUMBER, NumberFilter, NumberRange, condition_text

MAX_PATH_WORDS = 64
"""Terms of several parts share at most this many words of 64 positions."""

Records = npt.NDArray[np.void]

PROGRAM = np.dtype(
    [
        ("enabled_rules", "<u8"),
        ("select_all", "<u8"),
        ("select_layers", "<u8"),
        ("match_all", "<u8"),
        ("unknown_device", "<u8"),
        ("rule_count", "<u4"),
        ("dump_enable", "<u4"),
        ("filter_level", "<u4"),
        ("id_class_count", "<u4"),
        ("id_start", "<u4"),
        ("id_absorbing", "<u4"),
        ("name_class_count", "<u4"),
        ("name_start", "<u4"),
        ("name_absorbing", "<u4"),
        ("reserved_before", "<u4"),
        ("max_bytes", "<u8"),
        ("reserved", "<u4", (4,)),
    ]
)
INTERVAL = np.dtype([("first", "<u8"), ("include", "<u8"), ("exclude", "<u8")])
STRIDE = np.dtype([("first", "<u8"), ("last", "<u8"), ("step", "<u8"), ("include", "<u8"), ("exclude", "<u8")])
EMISSION = np.dtype([("here", "<u8"), ("below", "<u8"), ("excluded", "<u8")])
PATH_WORD = np.dtype(
    [("start", "<u8"), ("anchored", "<u8"), ("sticky", "<u8"), ("accept", "<u8"), ("accept_base", "<u8")]
)
PATH_ACCEPT = np.dtype([("here", "<u8"), ("below", "<u8"), ("excluded", "<u8")])
ACTION = np.dtype(
    [
        ("input_tasks", "<u4"),
        ("output_tasks", "<u4"),
        ("save_child", "<u4"),
        ("condition", "<u4"),
        ("next", "<u8"),
        ("max_bytes", "<u8"),
        ("max_tensor_bytes", "<u8"),
        ("stop_after", "<u8"),
        ("condition_bound", "<f8"),
        ("reserved", "<u8"),
    ]
)
CONDITION_NAN, CONDITION_INFINITY, CONDITION_ABOVE = 1, 2, 4
"""Bits of an action's condition; the last one goes with `condition_bound`."""

CONDITION_END = 8

RULE_NAME = np.dtype(
    [("text_offset", "<u4"), ("text_length", "<u4"), ("source_offset", "<u4"), ("source_length", "<u4")]
)
BYTE = np.dtype("u1")
WORD = np.dtype("<u4")
POSITIONS = np.dtype("<u8")


class SectionKind(enum.IntEnum):
    """The kinds of sections. The numbers are part of the format; those left out are not in use."""

    PROGRAM = 1
    ROUNDS = 2
    ROUND_STRIDES = 3
    DEVICES = 4
    DEVICE_STRIDES = 5
    ID_CLASSES = 8
    ID_TRANSITIONS = 9
    ID_STATES = 10
    ID_EMISSIONS = 11
    NAME_CLASSES = 12
    NAME_TRANSITIONS = 13
    NAME_STATES = 14
    NAME_EMISSIONS = 15
    NAME_POSITIONS = 16
    PATH_WORDS = 17
    PATH_ACCEPTS = 18
    ACTIONS = 19
    RULE_NAMES = 20
    TEXT = 21


SECTIONS: dict[SectionKind, tuple[str, np.dtype[np.generic]]] = {
    SectionKind.PROGRAM: ("program", PROGRAM),
    SectionKind.ROUNDS: ("rounds", INTERVAL),
    SectionKind.ROUND_STRIDES: ("round_strides", STRIDE),
    SectionKind.DEVICES: ("devices", INTERVAL),
    SectionKind.DEVICE_STRIDES: ("device_strides", STRIDE),
    SectionKind.ID_CLASSES: ("id_classes", BYTE),
    SectionKind.ID_TRANSITIONS: ("id_transitions", WORD),
    SectionKind.ID_STATES: ("id_states", WORD),
    SectionKind.ID_EMISSIONS: ("id_emissions", EMISSION),
    SectionKind.NAME_CLASSES: ("name_classes", BYTE),
    SectionKind.NAME_TRANSITIONS: ("name_transitions", WORD),
    SectionKind.NAME_STATES: ("name_states", WORD),
    SectionKind.NAME_EMISSIONS: ("name_emissions", EMISSION),
    SectionKind.NAME_POSITIONS: ("name_positions", POSITIONS),
    SectionKind.PATH_WORDS: ("path_words", PATH_WORD),
    SectionKind.PATH_ACCEPTS: ("path_accepts", PATH_ACCEPT),
    SectionKind.ACTIONS: ("actions", ACTION),
    SectionKind.RULE_NAMES: ("rule_name_records", RULE_NAME),
    SectionKind.TEXT: ("text", BYTE),
}
"""Of each section the attribute of Program that holds it, and its record."""


@dataclass(frozen=True)
class AutomatonTables:
    """One of the two automata of a program; a `class_count` of 0 says that there is none."""

    class_count: int
    start: int
    absorbing: int
    classes: npt.NDArray[np.uint8]
    """Class of each byte, shape (256,)."""
    transitions: npt.NDArray[np.uint32]
    """Next rows, shape (states * class_count,)."""
    states: npt.NDArray[np.uint32]
    """Index of the emission of each state, shape (states,)."""
    emissions: Records
    """EMISSION records."""


@dataclass(frozen=True, eq=False)
class Program:
    """The sections of an image; all arrays have one dimension and `program` has one record."""

    config_hash: bytes
    """SHA-256 of the bytes of the config file."""
    generation: int
    """0 until published."""
    program: Records
    rounds: Records
    round_strides: Records
    devices: Records
    device_strides: Records
    id_classes: npt.NDArray[np.uint8]
    id_transitions: npt.NDArray[np.uint32]
    id_states: npt.NDArray[np.uint32]
    id_emissions: Records
    name_classes: npt.NDArray[np.uint8]
    name_transitions: npt.NDArray[np.uint32]
    name_states: npt.NDArray[np.uint32]
    name_emissions: Records
    name_positions: npt.NDArray[np.uint64]
    """Rows of as many words as `path_words` has records, one for each of `name_emissions`."""
    path_words: Records
    path_accepts: Records
    actions: Records
    rule_name_records: Records
    text: npt.NDArray[np.uint8]

    @property
    def ids(self) -> AutomatonTables:
        """The automaton that reads the ids of an op path, joined by `_`."""
        record = self.program[0]
        return AutomatonTables(
            int(record["id_class_count"]),
            int(record["id_start"]),
            int(record["id_absorbing"]),
            self.id_classes,
            self.id_transitions,
            self.id_states,
            self.id_emissions,
        )

    @property
    def names(self) -> AutomatonTables:
        """The automaton that reads the name of one component."""
        record = self.program[0]
        return AutomatonTables(
            int(record["name_class_count"]),
            int(record["name_start"]),
            int(record["name_absorbing"]),
            self.name_classes,
            self.name_transitions,
            self.name_states,
            self.name_emissions,
        )

    @property
    def rule_names(self) -> tuple[str, ...]:
        """What the rules are called in reports, in the order of their bits."""
        text = self.text.tobytes()
        places = self.rule_name_records[["text_offset", "text_length"]].tolist()
        return tuple(text[offset : offset + length].decode("utf-8", "replace") for offset, length in places)

    @property
    def conditions(self) -> tuple[str | None, ...]:
        """What each rule asks of outputs, as a config writes it, in the order of their bits; None: nothing."""
        return tuple(map(_condition, *(self.actions[field].tolist() for field in ("condition", "condition_bound"))))


def _condition(bits: int, bound: float) -> str | None:
    above = bound if bits & CONDITION_ABOVE else None
    return condition_text(bool(bits & CONDITION_NAN), bool(bits & CONDITION_INFINITY), above) or None


def emission_records(automaton: Automaton) -> Records:
    """Return the masks of the automaton's emissions as EMISSION records."""
    records = [(emission.here, emission.below, emission.excluded) for emission in automaton.emissions]
    return np.array(records, dtype=EMISSION)


def position_rows(automaton: Automaton, words: int) -> npt.NDArray[np.uint64]:
    """Return the position bits of the automaton's emissions, `words` words for each emission."""
    rows = b"".join(emission.positions.to_bytes(8 * words, "little") for emission in automaton.emissions)
    return np.frombuffer(rows, dtype=POSITIONS)


def lower_numbers(filters: Sequence[NumberFilter]) -> tuple[Records, Records]:
    """Return one filter for each rule as INTERVAL records, which cover all numbers, and STRIDE records.

    Ranges become points at which bits flip: first and the number after last. Strides keep their form: as
    intervals they would be as many as there are numbers in them.
    """
    include_flips: dict[int, int] = {}
    exclude_flips: dict[int, int] = {}
    strides: dict[tuple[int, int, int], list[int]] = {}
    for rule, numbers in enumerate(filters):
        bit = 1 << rule
        for is_exclusion, ranges in enumerate((numbers.included, numbers.excluded)):
            for numbers_range in ranges:
                if not _is_interval(numbers_range):
                    key = (numbers_range.first, numbers_range.last, numbers_range.step)
                    strides.setdefault(key, [0, 0])[is_exclusion] |= bit
        everything = [(0, MAX_NUMBER)] if numbers.unlimited else []
        _flip(include_flips, bit, everything + _intervals(numbers.included))
        _flip(exclude_flips, bit, _intervals(numbers.excluded))

    records = [(0, 0, 0)]
    include = exclude = 0
    for first in sorted({0, *include_flips, *exclude_flips} - {MAX_NUMBER + 1}):
        include ^= include_flips.get(first, 0)
        exclude ^= exclude_flips.get(first, 0)
        if first == 0:
            records = [(0, include, exclude)]
        elif records[-1][1:] != (include, exclude):
            records.append((first, include, exclude))
    stride_records = [(*key, *masks) for key, masks in sorted(strides.items())]
    return np.array(records, dtype=INTERVAL), np.array(stride_records, dtype=STRIDE)


def _is_interval(numbers: NumberRange) -> bool:
    return numbers.step == 1 or numbers.first + numbers.step > numbers.last


def _intervals(ranges: Iterable[NumberRange]) -> list[tuple[int, int]]:
    """Return the closed intervals among the ranges; a stride that only reaches its first number is one."""
    return [
        (numbers.first, numbers.last if numbers.step == 1 else numbers.first)
        for numbers in ranges
        if _is_interval(numbers)
    ]


def _flip(flips: dict[int, int], bit: int, intervals: list[tuple[int, int]]) -> None:
    """Flip `bit` at the borders of the union of the intervals."""
    end = -1
    for first, last in sorted(intervals):
        if last <= end:
            continue
        # Where the interval touches the union so far, the flip that ended the union is taken back.
        for point in (max(first, end + 1), last + 1):
            flips[point] = flips.get(point, 0) ^ bit
        end = last
