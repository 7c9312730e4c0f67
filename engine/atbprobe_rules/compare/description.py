"""The comparison as one JSON object, for `compare --json`.

Numbers that JSON cannot hold are the texts `nan`, `inf` and `-inf`, complex ones a list of two.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from atbprobe_rules.compare.comparison import ComparedTensor, Comparison, FedBy, TensorPlace, WrongOperation
from atbprobe_rules.compare.metrics import Metrics
from atbprobe_rules.compare.result_table import cell
from atbprobe_rules.compare.side_statistics import NAMES, SideStatistics
from atbprobe_rules.compare.tensor_pair import Verdict
from atbprobe_rules.dump.statistic_file import Number

_MEASURES = (
    *("cosine", "euclidean_distance", "max_absolute_error", "max_relative_error", "within_1000th", "within_200th"),
    *("relative_distance", "peak_error"),
)


def describe(comparison: Comparison) -> dict[str, Any]:
    """Return everything that is known, in the order of execution."""
    return {
        "golden": comparison.golden,
        "target": comparison.target,
        "differs": comparison.differs,
        "incomplete": comparison.is_incomplete,
        "counts": {verdict.value: comparison.count(verdict) for verdict in Verdict},
        "first_operation_that_differs": None if comparison.first is None else _wrong(comparison.first),
        "arises_in": [_place(wrong.place) for wrong in comparison.wrong if wrong.found.arises_here],
        "tensors": [_tensor(tensor) for tensor in comparison.tensors],
        "only_golden": [_named(place) for place in comparison.only_golden],
        "only_target": [_named(place) for place in comparison.only_target],
        "without_data": comparison.unjudged,
        "problems": comparison.problems,
        "notes": comparison.notes,
    }


def _wrong(wrong: WrongOperation) -> dict[str, Any]:
    return {
        **_place(wrong.place),
        "judged_by": "outputs" if wrong.found.by_outputs else "inputs",
        "inputs": wrong.found.inputs.value,
        "arises_here": wrong.found.arises_here,
        "fed_by": [_fed_by(feed) for feed in wrong.fed_by],
    }


def _fed_by(feed: FedBy) -> dict[str, Any]:
    source = feed.source
    return {
        "input": feed.input.index,
        "verdict": None if feed.verdict is None else feed.verdict.value,
        "op": None if source is None else source.op,
        "output": None if source is None else source.index,
    }


def _place(place: TensorPlace) -> dict[str, Any]:
    """Of an operation."""
    return {"op": place.op, "ids": "_".join(map(str, place.ids)), "process": place.process, "round": place.round}


def _named(place: TensorPlace) -> dict[str, Any]:
    return {"name": place.name, "process": place.process, "round": place.round}


def _tensor(tensor: ComparedTensor) -> dict[str, Any]:
    outcome = tensor.outcome
    return {
        **{
            side: {**_named(place), "dtype": found.dtype, "shape": found.shape, **_statistics(found.statistics)}
            for side, place, found in (
                ("golden", tensor.golden, outcome.golden),
                ("target", tensor.target, outcome.target),
            )
        },
        "metrics": None if outcome.metrics is None else _metrics(outcome.metrics),
        "verdict": outcome.verdict.value,
        "reasons": outcome.reasons,
    }


def _metrics(metrics: Metrics) -> dict[str, Any]:
    counted = {field.name: getattr(metrics, field.name) for field in dataclasses.fields(metrics)[:3]}
    return {**counted, **{name: number(getattr(metrics, name)) for name in _MEASURES}}


def _statistics(statistics: SideStatistics) -> dict[str, Any]:
    return {name: number(getattr(statistics, name)) for name in NAMES}


def number(value: Number | None) -> object:
    """Return a number as JSON can hold it."""
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    return None if value is None else cell(value)
