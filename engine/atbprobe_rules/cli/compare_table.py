"""The table of tensors in what `compare` says to a person."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from atbprobe_rules.cli.compare_text import LISTED
from atbprobe_rules.cli.words import counted
from atbprobe_rules.compare.comparison import ComparedTensor, TensorPlace
from atbprobe_rules.diagnostics import printable


def print_tensors(tensors: Sequence[ComparedTensor]) -> None:
    """Print how far apart the first LISTED are, and the reasons of their verdicts."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 1))
    table.add_column("tensor", overflow="fold")
    for title in ("cosine", "distance", "max abs.", "max rel.", "<1/1000"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for tensor in tensors[:LISTED]:
        table.add_row(*(Text(printable(text)) for text in _row(tensor)))
    Console(highlight=False).print(table)
    for tensor in tensors[:LISTED]:
        if tensor.outcome.reasons:
            click.echo(printable(f"  {_short(tensor.golden)}: {'; '.join(tensor.outcome.reasons)}"))
    if len(tensors) > LISTED:
        click.echo(printable(f"  and {counted(len(tensors) - LISTED, 'more tensor')}"))


def _row(tensor: ComparedTensor) -> list[str]:
    metrics = tensor.outcome.metrics
    values: list[float | None] = [None] * 5
    if metrics is not None:
        values = [metrics.cosine, metrics.relative_distance, metrics.max_absolute_error, metrics.max_relative_error]
        values.append(metrics.within_1000th)
    return [
        _short(tensor.golden),
        *("-" if value is None else f"{value:.6g}" for value in values),
        tensor.verdict.value,
    ]


def _short(place: TensorPlace) -> str:
    return f"{place.io} {place.index}"
