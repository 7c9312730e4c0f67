"""The ops that processes have listed, for a person: a tree for each process, folded where it repeats itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from atbprobe_rules.cli.words import counted
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.listing.ops import KERNEL, UNKNOWN_DEVICE, ListedOp, ListedTensor
from atbprobe_rules.listing.processes import Listing, ProcessListing

INDENT = "  "
FILE_COLUMNS = 1000
"""In a file or a pipe lines are as long as they need to be."""


@dataclass
class _Layer:
    """One execution of a layer-level op, with the ops below it; `number` counts those that came before it."""

    number: int
    ops: list[ListedOp] = field(default_factory=list)

    @property
    def name(self) -> str:
        return _own_name(self.ops[0])

    @property
    def id(self) -> str:
        return self.ops[0].id_path.partition("_")[0]

    def shape(self) -> tuple[object, ...]:
        """What makes two layers look alike: all but the layer's id and the round."""
        return tuple((op.path.partition("_")[2], op.kind, op.name, op.inputs, op.outputs) for op in self.ops)


def print_listing(listing: Listing, *, show_all: bool) -> None:
    """Print a table for each process, one for all processes that have listed the same."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = FILE_COLUMNS
    for alike in _groups(listing, show_all=show_all):
        first = alike[0]
        console.print(Text(_title(first, alike[1:])), soft_wrap=True)
        console.print(_table(first.ops, show_all=show_all))


def _groups(listing: Listing, *, show_all: bool) -> list[list[ProcessListing]]:
    """Return the processes that have listed anything, those with the same ops together."""
    groups: dict[object, list[ProcessListing]] = {}
    for process in listing.processes:
        if process.ops:
            same: object = process.pid if show_all else tuple(_without_process(op) for op in process.ops)
            groups.setdefault(same, []).append(process)
    return list(groups.values())


def _without_process(op: ListedOp) -> tuple[object, ...]:
    return op.path, op.kind, op.name, op.inputs, op.outputs


def _title(process: ProcessListing, others: Sequence[ProcessListing]) -> str:
    layers = _layers(process.ops)
    rounds = sorted({layer.ops[0].round for layer in layers})
    numbers = f"round {rounds[0]}" if len(rounds) == 1 else f"rounds {rounds[0]} to {rounds[-1]}"
    title = f"{_name(process)}, {numbers}: {counted(len(process.ops), 'op')} in {counted(len(layers), 'layer')}"
    if not others:
        return title
    return f"{title}; the same in {', '.join(_name(other) for other in others)}"


def _name(process: ProcessListing) -> str:
    device = "" if process.device == UNKNOWN_DEVICE else f" (device {process.device})"
    return f"process {process.pid}{device}"


def _layers(ops: Sequence[ListedOp]) -> list[_Layer]:
    """Return the layer-level ops in order of their ids, round by round."""
    layers: list[_Layer] = []
    executions: Counter[str] = Counter()
    top = ""
    for op in ops:
        layer, _, below = op.path.partition("/")
        if not below or layer != top or not layers:
            layers.append(_Layer(executions[layer]))
            executions[layer] += 1
            top = layer
        layers[-1].ops.append(op)
    return sorted(layers, key=lambda layer: (layer.number, len(layer.id), layer.id))


def _table(ops: Sequence[ListedOp], *, show_all: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("id path", "operation or kernel"):
        table.add_column(title, overflow="fold", no_wrap=True)
    for title in ("inputs", "outputs"):
        table.add_column(title, overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    layers = _layers(ops)
    place = 0
    while place < len(layers):
        end = place + 1
        while not show_all and end < len(layers) and layers[end].shape() == layers[place].shape():
            end += 1
        for op in layers[place].ops:
            table.add_row(*_row(op))
        if end - place > 1:
            folded = layers[place + 1 : end]
            table.add_row(Text(_ids(folded)), Text(printable(f"{len(folded):,} more {folded[0].name} alike")))
        place = end
    return table


def _ids(layers: Sequence[_Layer]) -> str:
    first, last = layers[0].id, layers[-1].id
    return printable(first if len(layers) == 1 or first == last else f"{first} ... {last}")


def _row(op: ListedOp) -> Iterator[Text]:
    depth = op.path.count("/")
    yield Text(printable(op.id_path))
    yield Text(INDENT * depth + printable(_own_name(op)))
    yield Text(_tensors(op.inputs))
    yield Text(_tensors(op.outputs))
    sizes = [tensor.bytes for tensor in (*op.inputs, *op.outputs)]
    yield Text("" if not sizes else "?" if None in sizes else decimal(sum(size or 0 for size in sizes)))


def _own_name(op: ListedOp) -> str:
    unplaced = op.kind == KERNEL and not op.path.endswith(op.name)
    return f"{op.name} (a kernel of it)" if unplaced else op.name


def _tensors(tensors: Sequence[ListedTensor]) -> str:
    return ", ".join(printable(_tensor(tensor)) for tensor in tensors)


def _tensor(tensor: ListedTensor) -> str:
    shape = "?" if tensor.shape is None else "x".join(map(str, tensor.shape)) or "scalar"
    layout = "" if tensor.format == "nd" else f" {tensor.format}"
    return f"{tensor.dtype}{layout} {shape}"
