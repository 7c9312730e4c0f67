"""The ops of a process, put together from the answers of its threads.

The host names an op by its directory when it asks whether to dump it, and tells of the tensors of those that are no
graphs afterwards. Such a report calls an operation by name and ids, and a kernel by the name of what it is a kernel
for; which op it is about is told by the directory that was asked for last and by the path that a tensor would have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from atbprobe_rules.dump.element_types import ELEMENT_TYPES, FORMATS, ElementType
from atbprobe_rules.listing.records import AskedOp, RawTensor, ReportedTensors
from atbprobe_rules.op_path import parse_op_path

OPERATION = "operation"
KERNEL = "kernel"
UNKNOWN_DEVICE = -1

_TENSOR_FILE = re.compile(rb"/(?:before|after)(?:/[^/]*)?\Z")
_SHAPE = re.compile(rb"[0-9]{1,19}(?:,[0-9]{1,19}){0,63}")
_MOST_BYTES = 2**63 - 1


@dataclass(frozen=True)
class ListedTensor:
    """An input or output, with type and format by name. `shape` is None if the host's text is none; `bytes` is None
    if the size of the type is not known. Types of less than a byte count as packed."""

    dtype: str
    format: str
    shape: tuple[int, ...] | None
    bytes: int | None

    def to_json(self) -> dict[str, Any]:
        """Return what `ops --json` prints of it."""
        shape = None if self.shape is None else list(self.shape)
        return {"dtype": self.dtype, "format": self.format, "shape": shape, "bytes": self.bytes}


@dataclass(frozen=True)
class ListedOp:
    """One execution of an op. `dir` is the host's name for it; `kind` is OPERATION or KERNEL.

    Graphs (layers among them) are operations without tensors: the host does not report any. Where a kernel was not
    asked for by its own directory, `dir` and `id_path` are those of the operation that calls it.
    """

    pid: int
    device: int
    round: int
    id_path: str
    name: str
    kind: str
    dir: str
    inputs: tuple[ListedTensor, ...] = ()
    outputs: tuple[ListedTensor, ...] = ()

    @property
    def path(self) -> str:
        """What is the same in all executions: the components, the layer-level op first."""
        return self.dir.split("/", 2)[-1]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `ops --json` prints."""
        return {
            "pid": self.pid,
            "device": self.device,
            "round": self.round,
            "id_path": self.id_path,
            "name": self.name,
            "kind": self.kind,
            "dir": self.dir,
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
        }


@dataclass
class _Gathered:
    """What is known of one execution so far."""

    dir: bytes
    round: int
    is_kernel: bool
    reported_name: bytes | None = None
    """Of a kernel that has no directory of its own."""
    inputs: list[ListedTensor] = field(default_factory=list)
    outputs: list[ListedTensor] = field(default_factory=list)


def ops_of(pid: int, records: Iterable[AskedOp | ReportedTensors]) -> list[ListedOp]:
    """Return the ops that a thread of process `pid` has told of, in the order in which they began."""
    gathered: dict[tuple[bytes, int, int], _Gathered] = {}
    for record in records:
        if isinstance(record, AskedOp):
            _asked(gathered, record)
        elif (one := _reported(gathered, record)) is not None:
            one.inputs = [_tensor(raw) for raw in record.inputs]
            one.outputs = [_tensor(raw) for raw in record.outputs]
    return [_listed(pid, one) for one in gathered.values()]


def _asked(gathered: dict[tuple[bytes, int, int], _Gathered], record: AskedOp) -> _Gathered:
    new = _Gathered(record.dir, record.round, record.is_kernel)
    return gathered.setdefault((_path(record.dir), record.round, 0), new)


def _reported(gathered: dict[tuple[bytes, int, int], _Gathered], record: ReportedTensors) -> _Gathered | None:
    told = _TENSOR_FILE.sub(b"", record.path)
    directory = record.dir
    if not told and not directory:
        return None  # it may belong to anything
    if record.is_kernel:
        if directory and (not told or directory.rpartition(b"/")[0] == told):
            return _asked(gathered, AskedOp(True, record.round, directory))
        new = _Gathered(told or directory, record.round, True, reported_name=record.name)
        return gathered.setdefault((_path(new.dir), record.round, len(gathered) + 1), new)
    # Ops that are asked for are asked for last of all before they report. A path is told of each.
    return _asked(gathered, AskedOp(False, record.round, told or directory))


def _path(directory: bytes) -> bytes:
    return directory.split(b"/", 2)[-1]


def _listed(pid: int, one: _Gathered) -> ListedOp:
    parsed = parse_op_path(one.dir)
    components = () if parsed is None else parsed.components
    # A component without an id stands for itself.
    ids = [component.id_text or component.name for component in components]
    name = components[-1].name if components else one.dir
    device = None if parsed is None else parsed.device
    return ListedOp(
        pid=pid,
        device=UNKNOWN_DEVICE if device is None else device,
        round=one.round,
        id_path=_text(b"_".join(ids)),
        name=_text(name if one.reported_name is None else one.reported_name),
        kind=KERNEL if one.is_kernel else OPERATION,
        dir=_text(one.dir),
        inputs=tuple(one.inputs),
        outputs=tuple(one.outputs),
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _tensor(raw: RawTensor) -> ListedTensor:
    dtype = _text(raw.dtype)
    kind = _by_text().get(dtype)
    shape = _shape(raw.shape)
    known = None if kind is None or not kind.is_readable or shape is None else _bytes_of(kind, shape)
    return ListedTensor(dtype if kind is None else kind.name, _format(_text(raw.format)), shape, known)


def _shape(text: bytes) -> tuple[int, ...] | None:
    """A scalar's text is empty."""
    if not text:
        return ()
    return tuple(map(int, text.split(b","))) if _SHAPE.fullmatch(text) else None


def _bytes_of(kind: ElementType, shape: tuple[int, ...]) -> int | None:
    count = math.prod(shape)
    size = kind.packed_bytes(count) if kind.can_be_packed else kind.unpacked_bytes(count)
    return size if size <= _MOST_BYTES else None


def _format(text: str) -> str:
    return _formats_by_number().get(text, text)


@cache
def _by_text() -> dict[str, ElementType]:
    """Reports of the real host have names, dumps have numbers."""
    by_name = {kind.name: kind for kind in ELEMENT_TYPES.values()}
    return by_name | {str(number): kind for number, kind in ELEMENT_TYPES.items()}


@cache
def _formats_by_number() -> dict[str, str]:
    return {str(number): name for number, name in FORMATS.items()}
