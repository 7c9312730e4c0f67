"""What feeds an operation: whose output each of its inputs is, found by content in the golden dump.

Names of tensors are known only where the host has reported its graphs, kernels are in none, and a dump may have been
copied without them. The bytes are always there: an input is what an earlier operation of the round has put out last
with the same type, shape and bytes. Without data the four statistics have to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from atbprobe_rules.compare.side_statistics import same, statistics_of_row
from atbprobe_rules.compare.tensor_pair import same_bytes
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.op import Op, StoredTensor
from atbprobe_rules.dump.stored_names import Side
from atbprobe_rules.dump.tensor_file import TensorFile
from atbprobe_rules.dump.tree import Round


@dataclass(frozen=True)
class Feed:
    """An input of an operation, and the output that it is; None: of nothing that was dumped before it."""

    tensor: StoredTensor
    source: StoredTensor | None


def feeds(one: Round, ids: tuple[int, ...]) -> list[Feed]:
    """Return what feeds the operation with this id path; nothing if none of its inputs was dumped."""
    places = {id(tensor): place for place, tensor in enumerate(one.tensors)}
    inputs = [tensor for op in _named(one, ids) for tensor in op.inputs]
    return [Feed(tensor, _source(one.tensors[: places[id(tensor)]], tensor)) for tensor in inputs]


def _named(one: Round, ids: tuple[int, ...]) -> list[Op]:
    return [op for op in one.walk() if op.id_path == ids]


def _source(earlier: list[StoredTensor], tensor: StoredTensor) -> StoredTensor | None:
    opened = _opened(tensor)
    for candidate in reversed(earlier):
        if candidate.side is not Side.OUTPUT:
            continue
        if _same_bytes(opened, candidate) if opened is not None else _same_statistics(tensor, candidate):
            return candidate
    return None


def _opened(tensor: StoredTensor) -> TensorFile | None:
    try:
        return tensor.open_file() if tensor.path is not None else None
    except (DumpError, OSError):
        return None


def _same_bytes(tensor: TensorFile, candidate: StoredTensor) -> bool:
    try:
        other = candidate.open_file() if candidate.path is not None else None
        if other is None or (tensor.dtype, tensor.shape) != (other.dtype, other.shape):
            return False
        return tensor.data_path == other.data_path or (tensor.nbytes > 0 and same_bytes(tensor, other))
    except (DumpError, OSError):
        return False


def _same_statistics(tensor: StoredTensor, candidate: StoredTensor) -> bool:
    row, other = tensor.row, candidate.row
    if row is None or other is None or (row.dtype, row.shape) != (other.dtype, other.shape):
        return False
    found, others = statistics_of_row(row), statistics_of_row(other)
    pairs = [(getattr(found, name), getattr(others, name)) for name in ("max", "min", "mean", "norm")]
    return all(one is not None and another is not None and same(one, another) for one, another in pairs)
