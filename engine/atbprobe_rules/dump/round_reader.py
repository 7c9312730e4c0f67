"""The operations and tensors of a round, from its folders and its statistic.csv.

**Order of execution.** statistic.csv has a row for each tensor in the order in which the host gave them to the probe:
inputs of an operation, then its children, then its outputs; all of an operation that was held back by a condition when
it was kept. Tensors of a round come in that order. Those without a row (the file is missing, or cut short) come behind,
in the natural order: operations of one parent by id, then name; of an operation the inputs by number, then the
children, then the outputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.op import PARAM_FILE, Op, StoredTensor
from atbprobe_rules.dump.statistic_file import (
    ANOMALY_FILE,
    STATISTIC_FILE,
    AnomalyRow,
    RowFile,
    StatisticRow,
    read_anomalies,
    read_statistics,
)
from atbprobe_rules.dump.stored_names import MOST_DEPTH, OpComponent, Side, TensorName, disk_name

if TYPE_CHECKING:
    from atbprobe_rules.dump.tree import Round

_SIDES = {side.folder for side in Side}
Row = TypeVar("Row")


@dataclass(frozen=True)
class RoundContent:
    """What the folder of a round holds."""

    ops: list[Op]
    tensors: list[StoredTensor]
    anomalies: tuple[AnomalyRow, ...]
    problems: tuple[DumpError, ...]


def read_round(one: Round) -> RoundContent:
    """Read what is in a round's folder; what cannot be read of it is among the result's problems."""
    problems: list[DumpError] = []
    tree = _Tree(one, problems)
    tree.scan()
    rows = _rows(one.path / STATISTIC_FILE, read_statistics, problems)
    tree.add_rows(rows)
    anomalies: Sequence[AnomalyRow] = _rows(one.path / ANOMALY_FILE, read_anomalies, problems)
    tree.sort()
    return RoundContent(tree.roots, tree.tensors, tuple(anomalies), tuple(problems))


class _Tree:
    """The operations of a round while they are put together, by the names of their folders.

    Folders are texts here: taking paths apart would cost more than the rest.
    """

    def __init__(self, one: Round, problems: list[DumpError]) -> None:
        self._round = one
        self._problems = problems
        self._ops: dict[tuple[str, ...], Op] = {}
        self._tensors: dict[tuple[Op, bool, str], StoredTensor] = {}
        self._by_names: dict[tuple[tuple[str, ...], tuple[int, ...]], Op] = {}
        self.roots: list[Op] = []
        self.tensors: list[StoredTensor] = []

    def scan(self) -> None:
        """Find all files."""
        waiting: list[tuple[str, tuple[str, ...]]] = [(str(self._round.path), ())]
        while waiting:
            folder, names = waiting.pop()
            side = names[-1] if len(names) > 1 and names[-1] in _SIDES else ""
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    if len(names) < MOST_DEPTH:
                        waiting.append((entry.path, (*names, entry.name)))
                elif entry.name == PARAM_FILE and names:
                    self._op(names)
                elif side and entry.is_file(follow_symlinks=False):
                    self._add_file(entry.path, side, entry.name, names[:-1])

    def _add_file(self, path: str, side: str, file: str, folders: tuple[str, ...]) -> None:
        name = TensorName.of_file(side, file)
        if name is not None:
            self._tensor(self._op(folders), name).file = path

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """All but hidden ones, which are of files that are being written."""
        try:
            with os.scandir(folder) as entries:
                return [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            self._problems.append(DumpError(folder, f"the folder cannot be read: {error.strerror}"))
            return []

    def add_rows(self, rows: Iterable[StatisticRow]) -> None:
        """Give tensors their rows; a tensor that was saved twice has two, of which the second is about its file."""
        for row in rows:
            self._tensor(self._op_of(row), row.address.tensor).row = row

    def _op_of(self, row: StatisticRow) -> Op:
        """The op that a row is about, which gets its true names from it."""
        key = (row.address.names, row.address.ids)
        known = self._by_names.get(key)
        if known is not None and (row.path is None or _folders_in(row) == known.folders):
            return known
        components = self._components(row)
        op = self._op(tuple(component.folder for component in components))
        for depth, parent in enumerate(_lineage(op)):
            parent.components = components[: depth + 1]
        self._by_names[key] = op
        return op

    def _components(self, row: StatisticRow) -> tuple[OpComponent, ...]:
        """The true names from the row, with the folders' names where the row's path tells them."""
        names, ids = row.address.names, row.address.ids
        if row.path is not None:
            folders = _folders_in(row)
            if len(folders) == len(names) and all(map(_is_called, folders, names)):
                return tuple(
                    OpComponent(OpComponent.of_folder(folder).id, name, folder)
                    for folder, name in zip(folders, names, strict=True)
                )
        known = self._by_names.get((names, ids))
        if known is not None:
            return known.components
        padded = (*ids, *(None for _ in names))
        return tuple(OpComponent.of_name(number, name) for number, name in zip(padded, names, strict=False))

    def _op(self, folders: tuple[str, ...]) -> Op:
        op = self._ops.get(folders)
        if op is None:
            parent = self._op(folders[:-1]) if len(folders) > 1 else None
            above = () if parent is None else parent.components
            components = (*above, OpComponent.of_folder(folders[-1]))
            op = self._ops[folders] = Op(self._round, components, parent)
            (self.roots if parent is None else parent.children).append(op)
            self._by_names.setdefault((tuple(component.name for component in components), op.id_path), op)
        return op

    def _tensor(self, op: Op, name: TensorName) -> StoredTensor:
        key = (op, name.side is Side.INPUT, name.label)
        tensor = self._tensors.get(key)
        if tensor is None:
            tensor = self._tensors[key] = StoredTensor(op, name)
            op.tensors.append(tensor)
        return tensor

    def sort(self) -> None:
        """Into the order of execution."""
        for op in self._ops.values():
            op.children.sort(key=_natural)
            op.tensors.sort(key=_tensor_order)
        self.roots.sort(key=_natural)
        natural = list(_in_natural_order(self.roots))
        with_rows = [tensor for tensor in natural if tensor.row is not None]
        with_rows.sort(key=lambda tensor: tensor.row.line if tensor.row is not None else 0)
        self.tensors = with_rows + [tensor for tensor in natural if tensor.row is None]
        begun: dict[int, int] = {}
        for position, tensor in enumerate(self.tensors):
            for op in _lineage(tensor.op):
                begun.setdefault(id(op), position)
        last = len(self.tensors)
        for op in self._ops.values():
            op.children.sort(key=lambda child: begun.get(id(child), last))
        self.roots.sort(key=lambda root: begun.get(id(root), last))


def _folders_in(row: StatisticRow) -> tuple[str, ...]:
    """The names of the folders that a row's path has in the place of its operations."""
    assert row.path is not None
    return tuple(row.path.split("/")[-len(row.address.names) - 2 : -2])


def _is_called(folder: str, name: str) -> bool:
    """Whether a folder can be that of an op of this name: what a row says may be anything."""
    digits = folder.partition("_")[0]
    return folder in (disk_name(name), disk_name(f"{digits}_{name}"))


def _lineage(op: Op) -> list[Op]:
    """The layer-level operation first, `op` last."""
    found = [op]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found[::-1]


def _natural(op: Op) -> tuple[bool, int, str]:
    component = op.components[-1]
    return (component.id is None, component.id or 0, component.name)


def _tensor_order(tensor: StoredTensor) -> tuple[bool, int, str]:
    ordinal = tensor.name.ordinal
    return (tensor.side is Side.OUTPUT, ordinal if ordinal is not None else 1 << 40, tensor.name.label)


def _in_natural_order(roots: Sequence[Op]) -> Iterable[StoredTensor]:
    """Inputs, then children, then outputs; an op waits with its outputs until those below it are through."""
    waiting: list[Op | list[StoredTensor]] = list(reversed(roots))
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            yield from item
            continue
        yield from item.inputs
        waiting.append(item.outputs)
        waiting.extend(reversed(item.children))


def _rows(path: Path, read: Callable[[Path], RowFile[Row]], problems: list[DumpError]) -> Sequence[Row]:
    try:
        found = read(path)
    except FileNotFoundError:
        return ()
    except DumpError as error:
        problems.append(error)
        return ()
    except OSError as error:
        problems.append(DumpError(path, f"it cannot be read: {error.strerror}"))
        return ()
    problems.extend(found.problems)
    return found.rows
