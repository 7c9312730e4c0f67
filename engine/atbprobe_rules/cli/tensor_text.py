"""What `show` says of one tensor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from atbprobe_rules.cli.json_numbers import json_number
from atbprobe_rules.cli.words import counted
from atbprobe_rules.diagnostics import printable

if TYPE_CHECKING:
    from atbprobe_rules.dump.tensor import Tensor
    from atbprobe_rules.dump.tensor_summary import Histogram, Place, Statistics, TensorSummary, Value

BAR_WIDTH = 40


def tensor_json(tensor: Tensor, summary: TensorSummary | None) -> dict[str, Any]:
    """Return the object of `show --json` for a .bin; `summary` is None for types that cannot be read."""
    said: dict[str, Any] = {
        "kind": "tensor",
        "file": str(tensor.path),
        "data_file": str(tensor.data_path),
        "dtype": tensor.dtype,
        "format": tensor.format,
        "shape": list(tensor.shape),
        "bytes": tensor.nbytes,
    }
    if summary is None:
        return {**said, "summary": None}
    histogram = summary.histogram
    places = [
        {"position": place.position, "index": place.index, "value": json_number(place.value)}
        for place in summary.places
    ]
    return {
        **said,
        "summary": {
            "elements": summary.count,
            "statistics": _statistics_json(summary.statistics),
            "finite": _statistics_json(summary.finite),
            "nan": summary.nan,
            "positive_infinity": summary.positive_infinity,
            "negative_infinity": summary.negative_infinity,
            "not_finite_at": places,
            "first": [json_number(value) for value in summary.first],
            "last": [json_number(value) for value in summary.last],
            "histogram": None if histogram is None else asdict(histogram),
        },
    }


def tensor_lines(tensor: Tensor, summary: TensorSummary | None) -> Iterator[str]:
    """Yield the lines of `show` for a .bin."""
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    yield printable(str(tensor.path))
    yield f"tensor      {tensor.dtype}, {shape}, {tensor.format}, {tensor.nbytes:,} bytes"
    if tensor.is_reference:
        yield f"data in     {printable(str(tensor.data_path))}"
    if summary is None:
        yield f"elements    of type {tensor.dtype} cannot be read"
        return
    if summary.count != tensor.size:
        yield f"elements    {summary.count:,} in the file, {tensor.size:,} by the shape: the rest is padding"
    yield f"statistics  {_statistics_text(summary.statistics)}"
    if summary.not_finite:
        yield f"finite      {_statistics_text(summary.finite)}"
        yield f"not finite  {_not_finite_text(summary)}"
        for place in summary.places:
            yield f"            {_place_text(place)}"
        if summary.not_finite > len(summary.places):
            yield f"            and {summary.not_finite - len(summary.places):,} more"
    if summary.first:
        yield f"first       {', '.join(map(_value_text, summary.first))}"
        yield f"last        {', '.join(map(_value_text, summary.last))}"
    if summary.histogram is not None:
        yield from _histogram_lines(summary.histogram)


def _statistics_json(statistics: Statistics) -> dict[str, object]:
    return {name: json_number(value) for name, value in asdict(statistics).items()}


def _statistics_text(statistics: Statistics) -> str:
    if statistics.max is None:
        return "none: there is no such value"
    return "  ".join(f"{name} {_value_text(value)}" for name, value in asdict(statistics).items())


def _not_finite_text(summary: TensorSummary) -> str:
    counts = (("NaN", summary.nan), ("inf", summary.positive_infinity), ("-inf", summary.negative_infinity))
    kinds = ", ".join(f"{count:,} {name}" for name, count in counts if count)
    return f"{kinds} of {counted(summary.count, 'element')}"


def _place_text(place: Place) -> str:
    index = f"padding, element {place.position}" if place.index is None else str(list(place.index))
    return f"{index} {_value_text(place.value)}"


def _value_text(value: Value) -> str:
    if isinstance(value, complex):
        return f"({value.real:.9g},{value.imag:.9g})"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _histogram_lines(histogram: Histogram) -> Iterator[str]:
    yield "histogram   of the finite values"
    bar, dots = ("█", "…") if _can_print("█…") else ("#", "..")
    most = max(histogram.counts)
    digits = len(f"{most:,}")
    for low, high, count in zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False):
        length = -(-count * BAR_WIDTH // most) if most else 0
        yield f"  {low:>12.5g} {dots} {high:<12.5g} {count:>{digits},} {bar * length}".rstrip()


def _can_print(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True
