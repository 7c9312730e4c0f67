"""Ops from what a run has left on disk: the folders of a dump, its statistic.csv, and the graphs beside them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from atbprobe_rules.catalogue.graphs import GraphError, add_graph_file, head_of_folder
from atbprobe_rules.catalogue.ops import CatalogueBuilder, Execution, TensorSize, execution_of
from atbprobe_rules.catalogue.tensor_sizes import bytes_of, type_name
from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.op import StoredTensor
from atbprobe_rules.dump.statistic_file import StatisticRow, read_statistics
from atbprobe_rules.dump.stored_names import Side
from atbprobe_rules.dump.tree import Dump, Round


def add_dump(builder: CatalogueBuilder, dump: Dump) -> None:
    """Add the executions that a dump holds, with their tensors: from the rows of statistic.csv, or the .bin files."""
    for device in dump.devices:
        head = head_of_folder(device.path.name)
        for one in device.rounds:
            _add_round(builder, head, one)


def add_info_folder(builder: CatalogueBuilder, info: Path) -> int:
    """Add the graphs below a folder (info, info/layer, info/layer/<device>_<pid>); return how many files were read."""
    count = 0
    for path in sorted(info.rglob("*.json")):
        if path.is_symlink() or not path.is_file() or path.name.startswith("."):
            continue
        count += 1
        try:
            add_graph_file(builder, path)
        except (GraphError, OSError) as error:
            builder.notes.append(f"left out: {error}")
    return count


def add_statistics(builder: CatalogueBuilder, path: Path) -> None:
    """Add the executions of one statistic.csv. Raises DumpError if it is none, OSError."""
    rows = read_statistics(path)
    builder.notes.extend(f"left out: {problem}" for problem in rows.problems)
    for row in rows.rows:
        _add_row(builder, row)


def _add_row(builder: CatalogueBuilder, row: StatisticRow) -> None:
    address = row.address
    if len(address.names) != len(address.ids):
        builder.notes.append(f"left out: line {row.line}: as many names as ids are needed to know the path")
        return
    components = [f"{number}_{name}" for number, name in zip(address.ids, address.names, strict=True)]
    op = builder.add_op(_raw(address.process), _raw("/".join(components)))
    round_number = int(address.count) if address.count.isascii() and address.count.isdecimal() else None
    size = TensorSize(address.tensor.label, row.dtype, row.shape, bytes_of(row.dtype, row.shape))
    _side(execution_of(op, round_number), address.tensor.side).append(size)


def _add_round(builder: CatalogueBuilder, head: bytes, one: Round) -> None:
    builder.notes.extend(f"left out: {problem}" for problem in one.problems)
    for op in one.walk():
        known = builder.add_op(head, _raw("/".join(map(str, op.components))))
        execution = execution_of(known, one.number)
        for tensor in op.tensors:
            if (size := _size(builder, tensor)) is not None:
                _side(execution, tensor.side).append(size)


def _size(builder: CatalogueBuilder, tensor: StoredTensor) -> TensorSize | None:
    """From its row; a type of unknown size, and a tensor without a row, from the header of its file."""
    row = tensor.row
    size = None if row is None else bytes_of(row.dtype, row.shape)
    if row is not None and (size is not None or tensor.path is None):
        return TensorSize(tensor.name.label, row.dtype, row.shape, size)
    assert tensor.path is not None
    header = None
    with contextlib.suppress(OSError):
        try:
            header = BinFile.open(tensor.path, follow_link=False).header
        except DumpError as error:
            builder.notes.append(f"left out: {error}")
    if header is None:
        return None
    dtype = type_name(header.dtype)
    known = bytes_of(dtype, header.shape) if header.reference is not None else header.data_bytes
    return TensorSize(tensor.name.label, dtype, header.shape, known)


def _side(execution: Execution, side: Side) -> list[TensorSize]:
    return execution.inputs if side is Side.INPUT else execution.outputs


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
