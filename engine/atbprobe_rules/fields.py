"""The fields of a config and of its rules: names, types and defaults, in the order of the documentation."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class FieldType(enum.Enum):
    """The JSON type that a field must have; the value is its name in messages."""

    STRING = "a string"
    BOOLEAN = "true or false"
    INTEGER = "a whole number"
    SIZE = 'a number of bytes, or a size such as "10 GiB"'
    RULES = "an array of objects"


class Place(enum.Flag):
    """The objects in which a field may stand: the config itself, and those of its `rules`."""

    TOP = enum.auto()
    RULE = enum.auto()
    BOTH = TOP | RULE


@dataclass(frozen=True)
class Field:
    """A key of the config or of a rule, and what stands for it where it is left out; None: nothing does."""

    name: str
    type: FieldType
    default: str | bool | int | None = None
    place: Place = Place.BOTH
    inherited: bool = True
    """Whether a rule that leaves it out takes what the config has."""


TASK = Field("task", FieldType.STRING, "tensor")
DUMP_ENABLE = Field("dump_enable", FieldType.BOOLEAN, False, Place.TOP)
EXEC_RANGE = Field("exec_range", FieldType.STRING, "0,0")
NEXT = Field("next", FieldType.INTEGER)
IDS = Field("ids", FieldType.STRING, "")
OP_NAME = Field("op_name", FieldType.STRING, "")
SAVE_CHILD = Field("save_child", FieldType.BOOLEAN, False)
DEVICE = Field("device", FieldType.STRING, "")
MATCH = Field("match", FieldType.STRING, "any")
IO = Field("io", FieldType.STRING, "both")
FILTER_LEVEL = Field("filter_level", FieldType.INTEGER, 1, Place.TOP)
NAME = Field("name", FieldType.STRING, place=Place.RULE)
RULES = Field("rules", FieldType.RULES, place=Place.TOP)
WHEN = Field("when", FieldType.STRING)
STOP_AFTER = Field("stop_after", FieldType.INTEGER)
MAX_BYTES = Field("max_bytes", FieldType.SIZE, inherited=False)
MAX_TENSOR_BYTES = Field("max_tensor_bytes", FieldType.SIZE)

FIELDS = {
    field.name: field
    for field in (
        *(TASK, DUMP_ENABLE, EXEC_RANGE, NEXT, IDS, OP_NAME, SAVE_CHILD, DEVICE, MATCH, IO, FILTER_LEVEL, NAME, RULES),
        *(WHEN, STOP_AFTER, MAX_BYTES, MAX_TENSOR_BYTES),
    )
}


def fields_of(place: Place) -> list[str]:
    """Return the names of the fields that may stand in an object of this place, in the order of the documentation."""
    return [name for name, field in FIELDS.items() if place in field.place]


FORMER_NAMES = {
    "enable": "dump_enable",
    "er": "exec_range",
    "execute_range": "exec_range",
    "range": "exec_range",
    "save_operation_ids": "ids",
    "opname": "op_name",
    "operation_name": "op_name",
    "child": "save_child",
    "save_operation_child": "save_child",
    "device_id": "device",
    "type": "task",
}
"""What the options of older dump tools are called today; compared in lower case, with `-` read as `_`."""

LONGEST_GUESSED_WORD = 32


def nearest_word(word: str, valid: Iterable[str]) -> str | None:
    """Return the valid word that `word` was probably meant to be, or None if none is near.

    Near is: the same but for letter case, an abbreviation of at least three letters, or up to two edits (one
    in short words) apart, an edit being a letter added, dropped, changed, or swapped with its neighbour.
    """
    if not 0 < len(word) <= LONGEST_GUESSED_WORD:
        return None
    folded = word.lower()
    best: tuple[int, str] | None = None
    for candidate in valid:
        distance = _edits(folded, candidate)
        if len(folded) >= 3 and (candidate.startswith(folded) or _abbreviates(folded, candidate)):
            distance = min(distance, 1)
        allowed = 1 if min(len(folded), len(candidate)) < 5 else 2
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def _abbreviates(word: str, candidate: str) -> bool:
    """Tell whether `word` is the beginning of `candidate`, but for a plural s."""
    return word.endswith("s") and candidate.startswith(word[:-1])


def _edits(left: str, right: str) -> int:
    """Return the optimal string alignment distance (Damerau-Levenshtein, no edits in a swapped pair)."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before, row, above = row, [i], before
        for j, b in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
