"""What `show` says of rounds, of whole dumps, and of statistic.csv and anomaly.csv."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from atbprobe_rules.cli.json_numbers import json_number
from atbprobe_rules.cli.words import counted
from atbprobe_rules.diagnostics import printable

if TYPE_CHECKING:
    from atbprobe_rules.dump.contents import Amount, OpContents, RoundContents
    from atbprobe_rules.dump.statistic_file import AnomalyRow, RowAddress, StatisticRow

ANOMALIES_SHOWN = 10
PIPE_WIDTH = 10_000


def amount_json(amount: Amount) -> dict[str, int]:
    """Return the counts of a round or an operation, for --json."""
    return {
        "tensors": amount.tensors,
        "stored": amount.stored,
        "missing": amount.missing,
        "bytes": amount.bytes,
        "anomalous": amount.anomalous,
    }


def round_json(contents: RoundContents, *, with_ops: bool) -> dict[str, Any]:
    """Return the object of a round; without operations, as in that of a dump."""
    one = contents.round
    said: dict[str, Any] = {
        "path": str(one.path),
        "device": one.device.number,
        "pid": one.device.pid,
        "round": one.number,
        **amount_json(contents.amount),
        "anomalies": [_anomaly_json(row) for row in contents.anomalies],
        "problems": [str(problem) for problem in contents.problems],
    }
    if with_ops:
        said["ops"] = [_op_json(op) for op in contents.ops]
    return said


def statistic_json(row: StatisticRow) -> dict[str, Any]:
    """Return the object of a row of statistic.csv."""
    numbers = {"max": row.max, "min": row.min, "mean": row.mean, "norm": row.norm}
    return {
        **_address_json(row.address),
        "dtype": row.dtype,
        "format": row.format,
        "shape": row.shape,
        **{name: json_number(value) for name, value in numbers.items()},
        "file": row.path,
    }


def anomaly_json(row: AnomalyRow) -> dict[str, Any]:
    """Return the object of a row of anomaly.csv."""
    return _anomaly_json(row)


def _anomaly_json(row: AnomalyRow) -> dict[str, Any]:
    return {
        **_address_json(row.address),
        "dtype": row.dtype,
        "shape": row.shape,
        "nan": row.nan,
        "positive_infinity": row.positive_infinity,
        "negative_infinity": row.negative_infinity,
        "position": row.position,
        "index": row.index,
        "file": row.path,
    }


def _address_json(address: RowAddress) -> dict[str, Any]:
    return {
        "ids": "_".join(map(str, address.ids)),
        "op": "/".join(address.names),
        "io": address.tensor.side.value,
        "index": address.tensor.label,
    }


def _op_json(contents: OpContents) -> dict[str, Any]:
    op = contents.op
    children = [_op_json(child) for child in contents.children]
    return {"ids": op.ids, "name": op.name, **amount_json(contents.amount), "children": children}


class DumpTree:
    """The tree of a dump, a branch for each round that is added."""

    def __init__(self, title: str, *, with_ops: bool, most_rounds: int | None) -> None:
        self._tree = Tree(_text(title))
        self._with_ops = with_ops
        self._most_rounds = most_rounds
        self._devices: dict[str, Tree] = {}
        self._rounds = 0

    def add(self, contents: RoundContents) -> None:
        """Add a round; beyond the most that are shown it is only counted."""
        self._rounds += 1
        if self._most_rounds is not None and self._rounds > self._most_rounds:
            return
        folder = str(contents.round.path.parent)
        device = self._devices.get(folder)
        if device is None:
            device = self._devices[folder] = self._tree.add(_text(contents.round.path.parent.name))
        branch = device.add(_label(f"round {contents.round.path.name}", contents.amount))
        for op in contents.ops:
            self._add_op(branch, op)

    def _add_op(self, branch: Tree, contents: OpContents) -> None:
        waiting = [(branch, contents)]
        while waiting:
            parent, op = waiting.pop()
            child = parent.add(_label(str(op.op.components[-1]), op.amount))
            if self._with_ops:
                waiting.extend((child, inner) for inner in reversed(op.children))

    def print(self, console: Console) -> None:
        """Print it, and how many rounds are left out."""
        console.print(self._tree, soft_wrap=True)
        if self._most_rounds is not None and self._rounds > self._most_rounds:
            console.print(_text(f"and {counted(self._rounds - self._most_rounds, 'more round')}: --all shows them"))


def print_anomalies(console: Console, anomalies: Sequence[AnomalyRow], count: int) -> None:
    """Print the first of `count` tensors that hold NaN or infinities, in the order of execution."""
    if not anomalies:
        return
    console.print(_text("not finite, in the order of execution:"))
    table = _table("round", "id path", "operation", "tensor", "dtype", "shape", "NaN", "inf", "-inf", "first at")
    for row in anomalies:
        counts = (row.nan, row.positive_infinity, row.negative_infinity)
        index = f"element {row.position}" if row.index is None else str(list(row.index))
        where = (f"{row.address.process}/{row.address.count}", *_address_cells(row.address))
        cells = (*where, row.dtype, _shape_text(row.shape), *map(str, counts), index)
        table.add_row(*map(_text, cells))
    console.print(table)
    if count > len(anomalies):
        console.print(_text(f"and {counted(count - len(anomalies), 'more tensor')}: --all shows them"))


def print_statistics(console: Console, rows: Sequence[StatisticRow], most: int | None) -> None:
    """Print the rows of a statistic.csv."""
    table = _table("id path", "operation", "tensor", "dtype", "format", "shape", "max", "min", "mean", "norm")
    for row in rows[:most]:
        numbers = map(_number_text, (row.max, row.min, row.mean, row.norm))
        cells = (*_address_cells(row.address), row.dtype, row.format, _shape_text(row.shape), *numbers)
        style = "red" if any(_is_odd(value) for value in (row.max, row.min, row.norm)) else None
        table.add_row(*map(_text, cells), style=style)
    console.print(table)
    if most is not None and len(rows) > most:
        console.print(_text(f"and {counted(len(rows) - most, 'more row')}: --all shows them"))


def amount_text(amount: Amount) -> str:
    """Say how much there is, in one line."""
    parts = [counted(amount.tensors, "tensor")]
    if amount.stored != amount.tensors:
        parts.append(f"{amount.stored:,} with data")
    parts.append(decimal(amount.bytes))
    if amount.missing:
        parts.append(f"{amount.missing:,} missing")
    if amount.anomalous:
        parts.append(f"{amount.anomalous:,} not finite")
    return ", ".join(parts)


def _label(name: str, amount: Amount) -> Text:
    text = _text(f"{name}  ")
    text.append(amount_text(amount), style="red" if amount.missing or amount.anomalous else "dim")
    return text


def _table(*titles: str) -> Table:
    """Where it is too narrow, names of operations take several lines."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title != "operation")
    return table


def new_console() -> Console:
    """Return one that breaks lines only for a terminal."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(highlight=False, width=width)


def _address_cells(address: RowAddress) -> Iterable[str]:
    return ("_".join(map(str, address.ids)), "/".join(address.names), address.tensor.file.removesuffix(".bin"))


def _shape_text(shape: tuple[int, ...] | None) -> str:
    return "?" if shape is None else "x".join(map(str, shape)) or "scalar"


def _number_text(value: float | complex | None) -> str:
    if isinstance(value, complex):
        return f"({value.real:.6g},{value.imag:.6g})"
    return "-" if value is None else f"{value:.6g}"


def _is_odd(value: float | complex | None) -> bool:
    return value is not None and not math.isfinite(abs(value))


def _text(text: str) -> Text:
    """Names are the host's: nothing in them is markup, or for the terminal."""
    return Text(printable(text))
