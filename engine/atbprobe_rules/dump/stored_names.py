"""What the names in a dump say, and what the probe makes of names that a file system cannot hold.

    <device>_<pid>/<round>/<id>_<name>[/<id>_<name>…]/before|after/intensor|outtensor<index>[_<parameter>].bin

A component without an id is the rest of a name that holds a slash.
"""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from enum import Enum

MOST_NAME_BYTES = 255
KEPT_BYTES = 200

MOST_DEPTH = 128
"""Of operations within operations: far more than a path can hold."""

_NAMES_REMEMBERED = 1024
"""Nearly all tensors of a dump are called as many others of it are."""

_COMPONENT = re.compile(r"([0-9]+)_(.*)", re.DOTALL)
_PROCESS = re.compile(r"(-?[0-9]{1,10})_([0-9]{1,10})(\.old[0-9]{1,6}|\.[0-9]{1,6})?")
_ROUND = re.compile(r"[0-9]{1,20}")
_TENSOR = re.compile(r"(in|out)tensor(.*)\.bin", re.DOTALL)
_LABEL = re.compile(r"([0-9]{1,9})(?:_(.+))?", re.DOTALL)


class Side(Enum):
    """Whether a tensor is an operation's input, kept before it, or its output, kept after it."""

    INPUT = "input"
    OUTPUT = "output"

    @property
    def folder(self) -> str:
        return "before" if self is Side.INPUT else "after"


@dataclass(frozen=True)
class OpComponent:
    """`2_Prefill_layer`: `id` is None for the rest of a name that holds a slash. `folder` is its name on disk."""

    id: int | None
    name: str
    folder: str

    @classmethod
    def of_folder(cls, folder: str) -> OpComponent:
        """Take a folder's name apart. Of a name that was too long for it only the beginning is known."""
        match = _COMPONENT.fullmatch(folder)
        if match is None:
            return cls(None, {"%2E": ".", "%2E%2E": ".."}.get(folder, folder), folder)
        return cls(int(match[1][:20]), match[2], folder)

    @classmethod
    def of_name(cls, id_number: int | None, name: str) -> OpComponent:
        """The component of an op of which statistic.csv tells id and name."""
        return cls(id_number, name, disk_name(name if id_number is None else f"{id_number}_{name}"))

    def __str__(self) -> str:
        return self.name if self.id is None else f"{self.id}_{self.name}"


@dataclass(frozen=True)
class TensorName:
    """`intensor1_weight.bin`: `ordinal` 1, `parameter` "weight", `label` "1_weight".

    `ordinal` is None where no number follows `intensor`, which no host has been seen to do.
    """

    side: Side
    label: str

    @staticmethod
    @functools.lru_cache(maxsize=_NAMES_REMEMBERED)
    def of_row(side: str, label: str) -> TensorName:
        """Of the texts in statistic.csv; ValueError for another side than input and output."""
        return TensorName(Side(side), label)

    @staticmethod
    @functools.lru_cache(maxsize=_NAMES_REMEMBERED)
    def of_file(folder: str, file: str) -> TensorName | None:
        """None for a file that is no tensor, or is not on the side that its name says (the probe keeps none)."""
        match = _TENSOR.fullmatch(file)
        if match is None:
            return None
        side = Side.INPUT if match[1] == "in" else Side.OUTPUT
        return TensorName(side, match[2]) if folder == side.folder else None

    @functools.cached_property
    def ordinal(self) -> int | None:
        match = _LABEL.fullmatch(self.label)
        return None if match is None else int(match[1])

    @property
    def parameter(self) -> str | None:
        match = _LABEL.fullmatch(self.label)
        return None if match is None else match[2]

    @property
    def file(self) -> str:
        return f"{'in' if self.side is Side.INPUT else 'out'}tensor{self.label}.bin"


@dataclass(frozen=True)
class ProcessName:
    """`0_1234`, `0_1234.old1` or `0_1234.1`: `suffix` is what keeps processes of the same device and pid apart."""

    device: int
    pid: int
    suffix: str

    @classmethod
    def of_folder(cls, folder: str) -> ProcessName | None:
        match = _PROCESS.fullmatch(folder)
        return None if match is None else cls(int(match[1]), int(match[2]), match[3] or "")

    def __str__(self) -> str:
        return f"{self.device}_{self.pid}{self.suffix}"


def round_number(folder: str) -> int | None:
    """Return the number that a round's folder is called by; None for another folder."""
    return int(folder) if _ROUND.fullmatch(folder) else None


def disk_name(component: str) -> str:
    """Return what a component of the host's path is called on disk; nearly always the same.

    `.` and `..` are percent-encoded, as is NUL; a component of more than 255 bytes becomes its first 200, cut at a
    character, with `~` and 16 hex digits of the SHA-256 of the whole.
    """
    if component in (".", ".."):
        return component.replace(".", "%2E")
    raw = os.fsencode(component)
    name = raw.replace(b"\0", b"%00")
    if len(name) > MOST_NAME_BYTES:
        import hashlib  # which few dumps need, and takes longer to import than the rest of reading one

        name = _cut_at_character(name, KEPT_BYTES) + b"~" + hashlib.sha256(raw).hexdigest()[:16].encode()
    return os.fsdecode(name)


def _cut_at_character(text: bytes, limit: int) -> bytes:
    end = limit
    while end > limit - 3 and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[: limit if text[end] & 0xC0 == 0x80 else end]
