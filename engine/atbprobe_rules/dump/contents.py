"""How much there is in a round, and below each of its operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.op import Op, StoredTensor
from atbprobe_rules.dump.statistic_file import AnomalyRow
from atbprobe_rules.dump.stored_names import TensorName
from atbprobe_rules.dump.tree import Round

AnomalyKey = tuple[tuple[str, ...], tuple[int, ...], TensorName]


@dataclass(frozen=True)
class Amount:
    """Tensors, how many of them have a .bin, how many should have one and have none, the bytes of all .bin files, and
    how many tensors hold NaN or infinities, as far as statistics were kept."""

    tensors: int = 0
    stored: int = 0
    missing: int = 0
    bytes: int = 0
    anomalous: int = 0

    @classmethod
    def of(cls, amounts: Iterable[Amount]) -> Amount:
        """The sum."""
        columns = zip(*((a.tensors, a.stored, a.missing, a.bytes, a.anomalous) for a in amounts), strict=True)
        return cls(*(sum(column) for column in columns))


@dataclass(frozen=True)
class OpContents:
    """An operation with what it and all below it hold."""

    op: Op
    amount: Amount
    children: tuple[OpContents, ...]


@dataclass(frozen=True)
class RoundContents:
    """A round with what it holds. `anomalies` are in the order of execution."""

    round: Round
    amount: Amount
    ops: tuple[OpContents, ...]
    anomalies: tuple[AnomalyRow, ...]
    problems: tuple[DumpError, ...]


def round_contents(one: Round) -> RoundContents:
    """Count what is in a round; of each .bin only the size is looked at."""
    anomalous: Counter[AnomalyKey] = Counter(
        (row.address.names, row.address.ids, row.address.tensor) for row in one.anomalies
    )
    contents: dict[int, OpContents] = {}
    for op in reversed(list(one.walk())):  # children before parents
        children = tuple(contents.pop(id(child)) for child in op.children)
        own = (_amount(tensor, anomalous) for tensor in op.tensors)
        contents[id(op)] = OpContents(op, Amount.of([*own, *(child.amount for child in children)]), children)
    ops = tuple(contents[id(op)] for op in one.ops)
    return RoundContents(one, Amount.of(op.amount for op in ops), ops, one.anomalies, one.problems)


def _amount(tensor: StoredTensor, anomalous: Counter[AnomalyKey]) -> Amount:
    op = tensor.op
    names = tuple(component.name for component in op.components)
    path = tensor.path
    size = 0
    if path is not None:
        try:
            size = path.lstat().st_size
        except OSError:
            size = 0  # it went away since the folder was read
    return Amount(
        tensors=1,
        stored=int(path is not None),
        missing=int(tensor.is_missing),
        bytes=size,
        anomalous=int((names, op.id_path, tensor.name) in anomalous),
    )
