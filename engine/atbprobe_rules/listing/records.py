"""The answer of one thread to a request to list its ops, as bytes and as records.

The format stands in interposer/listing_format.h. An answer that is still being written, or whose process was killed,
ends anywhere; what comes back are its whole records.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from atbprobe_rules.errors import AtbprobeError

MAGIC = b"ATBROPS1"
MAX_ANSWER_BYTES = 65 << 20
"""More than a process writes in all, by the last record."""

_RECORD = struct.Struct("<II")
_NUMBER = struct.Struct("<I")
_ROUND = struct.Struct("<Q")


class RecordKind(enum.IntEnum):
    """What a record is about."""

    OPERATION = 1
    KERNEL = 2
    OPERATION_TENSORS = 3
    KERNEL_TENSORS = 4
    END = 5


class ListingEnd(enum.IntEnum):
    """Why an answer ended."""

    COMPLETE = 0
    THREAD_ENDED = 1
    TOO_LARGE = 2


END_RECORD_BYTES = _RECORD.size + _NUMBER.size


class AnswerError(AtbprobeError):
    """An answer is not what a process writes."""


@dataclass(frozen=True)
class AskedOp:
    """The host has asked for the directory of an op, in the execution that is its `round`."""

    is_kernel: bool
    round: int
    dir: bytes


@dataclass(frozen=True)
class RawTensor:
    """A tensor in the host's words."""

    dtype: bytes
    format: bytes
    shape: bytes


@dataclass(frozen=True)
class ReportedTensors:
    """The tensors of an op. `dir` is the directory that was asked for last, empty if that was of the other kind;
    `path` is where a dump of the first tensor would go, for a kernel below the operation that calls it."""

    is_kernel: bool
    round: int
    dir: bytes
    path: bytes
    name: bytes
    inputs: tuple[RawTensor, ...]
    outputs: tuple[RawTensor, ...]


@dataclass
class Answer:
    """The records of one thread, in order; `end` is None if there is more to come."""

    records: list[AskedOp | ReportedTensors] = field(default_factory=list)
    end: ListingEnd | None = None


def read_answer(data: bytes) -> Answer:
    """Read an answer; raises AnswerError where it is none."""
    answer = Answer()
    if not data.startswith(MAGIC):
        if MAGIC.startswith(data):
            return answer
        raise AnswerError("it does not begin as an answer does")
    for kind, content in _records(data):
        if answer.end is not None:
            raise AnswerError("there is something behind its end")
        reader = _Reader(content)
        if kind == RecordKind.END:
            answer.end = _end(reader.number())
        else:
            answer.records.append(_record(kind, reader))
        reader.expect_end()
    return answer


def has_end(tail: bytes) -> bool:
    """Tell whether these, the last END_RECORD_BYTES of an answer, are those of a finished one."""
    return tail.startswith(_RECORD.pack(RecordKind.END, _NUMBER.size)) and len(tail) == END_RECORD_BYTES


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = len(MAGIC)
    while len(data) - place >= _RECORD.size:
        kind, size = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        if size > len(data) - place:
            return
        yield kind, data[place : place + size]
        place += size


def _end(reason: int) -> ListingEnd:
    try:
        return ListingEnd(reason)
    except ValueError:
        raise AnswerError(f"it ended for an unknown reason, {reason}") from None


def _record(kind: int, reader: _Reader) -> AskedOp | ReportedTensors:
    if kind in (RecordKind.OPERATION, RecordKind.KERNEL):
        return AskedOp(kind == RecordKind.KERNEL, reader.round(), reader.text())
    if kind not in (RecordKind.OPERATION_TENSORS, RecordKind.KERNEL_TENSORS):
        raise AnswerError(f"it has a record of unknown kind, {kind}")
    number, directory, path, name = reader.round(), reader.text(), reader.text(), reader.text()
    input_count, output_count = reader.number(), reader.number()
    inputs, outputs = reader.tensors(input_count), reader.tensors(output_count)
    return ReportedTensors(kind == RecordKind.KERNEL_TENSORS, number, directory, path, name, inputs, outputs)


class _Reader:
    """Takes the content of one record apart."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def number(self) -> int:
        return int(_NUMBER.unpack(self._take(_NUMBER.size))[0])

    def round(self) -> int:
        return int(_ROUND.unpack(self._take(_ROUND.size))[0])

    def text(self) -> bytes:
        return self._take(self.number())

    def tensors(self, count: int) -> tuple[RawTensor, ...]:
        # One at a time: a count that is not true ends at the end of the record.
        return tuple([RawTensor(self.text(), self.text(), self.text()) for _ in range(count)])

    def expect_end(self) -> None:
        if self._place != len(self._content):
            raise AnswerError("a record is longer than what is in it")

    def _take(self, size: int) -> bytes:
        taken = self._content[self._place : self._place + size]
        if len(taken) != size:
            raise AnswerError("a record is shorter than what is in it")
        self._place += size
        return taken
