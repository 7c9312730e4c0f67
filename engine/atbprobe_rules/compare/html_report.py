"""The comparison as one page that needs nothing else: a plot over the model's depth, the tree, and the table.

What comes from the dumps is data of the page and never part of its markup: it stands in it as JSON without a `<`, and
the page's script puts it into text nodes only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from atbprobe_rules.compare.comparison import ComparedTensor, Comparison
from atbprobe_rules.compare.description import number
from atbprobe_rules.compare.result_table import shape_text
from atbprobe_rules.compare.side_statistics import NAMES, difference
from atbprobe_rules.compare.tensor_pair import PairOutcome
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.whole_file import whole_file

PAGE = "page.html"
_MARK = "@DATA@"


def write_html(comparison: Comparison, path: Path) -> None:
    """Write the page, in whole or not at all; raises OSError."""
    before, mark, behind = _template().partition(_MARK)
    assert mark, f"no {_MARK} in {PAGE}"
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(before)
        file.writelines(_json(comparison))
        file.write(behind)


def _template() -> str:
    return resources.files(__package__).joinpath(PAGE).read_text(encoding="utf-8")


def _json(comparison: Comparison) -> Iterator[str]:
    """The page's data in pieces: it may be as large as the table."""
    rounds: dict[tuple[str, str], int] = {}
    first = comparison.first
    head = {
        "golden": printable(comparison.golden),
        "target": printable(comparison.target),
        "only_golden": [printable(str(place)) for place in comparison.only_golden],
        "only_target": [printable(str(place)) for place in comparison.only_target],
        "problems": [printable(text) for text in (*comparison.problems, *comparison.notes)],
        "first": None if first is None else [first.place.process, first.place.round, printable(first.place.op)],
    }
    yield _safe(head)[:-1] + ', "rows": [\n'
    for place, tensor in enumerate(comparison.tensors):
        one = rounds.setdefault((tensor.golden.process, tensor.golden.round), len(rounds))
        yield ("" if place == 0 else ",\n") + _safe(_row(one, tensor))
    yield f'\n], "rounds": {_safe(list(rounds))}}}'


def _safe(value: Any) -> str:
    """Return JSON in ASCII that cannot end the element that it is in."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _row(one: int, tensor: ComparedTensor) -> list[Any]:
    outcome = tensor.outcome
    golden = tensor.golden
    return [
        one,
        printable(golden.op),
        f"{golden.io} {printable(golden.index)}",
        "_".join(map(str, golden.ids)),
        _one_or_two(outcome.golden.dtype, outcome.target.dtype),
        _one_or_two(shape_text(outcome.golden), shape_text(outcome.target)),
        outcome.verdict.value,
        *_measures(outcome),
        printable("; ".join(outcome.reasons)),
    ]


def _one_or_two(golden: str, target: str) -> str:
    return printable(golden if golden == target else f"{golden} → {target}")


def _measures(outcome: PairOutcome) -> list[object]:
    """Cosine, distance, absolute and relative error, the two shares, and the differences of the four statistics."""
    metrics = outcome.metrics
    values = (
        [None] * 6
        if metrics is None
        else [
            metrics.cosine,
            metrics.relative_distance,
            metrics.max_absolute_error,
            metrics.max_relative_error,
            metrics.within_1000th,
            metrics.within_200th,
        ]
    )
    golden, target = outcome.golden.statistics, outcome.target.statistics
    apart = [difference(getattr(golden, name), getattr(target, name)) for name in NAMES]
    return [
        number(value) for value in (*values, *(abs(value) if isinstance(value, complex) else value for value in apart))
    ]
