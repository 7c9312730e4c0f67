"""The comparison as a table: a row for each tensor that both dumps have, under the published comparison's columns.

Of tensors with data these are cosine, distance and errors, of those with statistics alone the differences of the four;
a table has the columns that it needs. Behind them come some of our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from atbprobe_rules.compare.comparison import ComparedTensor, Comparison
from atbprobe_rules.compare.metrics import Metrics
from atbprobe_rules.compare.side_statistics import NAMES, SideStatistics, difference, relative_percent
from atbprobe_rules.compare.tensor_pair import SideOutcome
from atbprobe_rules.dump.statistic_file import NOT_AVAILABLE, Number

Cell = str | float | int

PLACE_COLUMNS = (
    "Target Data Name",
    "Golden Data Name",
    "Target Device and PID",
    "Golden Device and PID",
    "Target Execution Count",
    "Golden Execution Count",
    "Target Data Type",
    "Golden Data Type",
    "Target Data Shape",
    "Golden Data Shape",
)
DATA_COLUMNS: dict[str, Callable[[Metrics], float | None]] = {
    "Cosine": lambda metrics: metrics.cosine,
    "Euc Distance": lambda metrics: metrics.euclidean_distance,
    "Max Absolute Err": lambda metrics: metrics.max_absolute_error,
    "Max Relative Err": lambda metrics: metrics.max_relative_error,
    "One Thousandth Err Ratio": lambda metrics: metrics.within_1000th,
    "Five Thousandth Err Ratio": lambda metrics: metrics.within_200th,
}
STATISTICS_COLUMNS = tuple(
    [f"{name.capitalize()} Diff" for name in NAMES] + [f"Relative Err of {name.capitalize()}(%)" for name in NAMES]
)
SIDE_COLUMNS = tuple(f"{side} {name.capitalize()}" for name in NAMES for side in ("Target", "Golden"))
OWN_COLUMNS = ("Relative Distance", "Peak Err", "NaN or Infinity Mismatches", "Verdict", "Reason")


@dataclass(frozen=True)
class ResultTable:
    """Names of columns, and the rows below them when they are asked for.

    A cell is a number, or text; a number that is NaN or infinite is the text `nan`, `inf` or `-inf`, one that is not
    defined `N/A`.
    """

    comparison: Comparison

    @property
    def columns(self) -> tuple[str, ...]:
        return (
            *PLACE_COLUMNS,
            *(DATA_COLUMNS if self._has_data else ()),
            *(STATISTICS_COLUMNS if self._has_statistics else ()),
            *SIDE_COLUMNS,
            *OWN_COLUMNS,
        )

    @property
    def _has_data(self) -> bool:
        return not self.comparison.tensors or any(tensor.outcome.metrics for tensor in self.comparison.tensors)

    @property
    def _has_statistics(self) -> bool:
        return any(tensor.outcome.metrics is None for tensor in self.comparison.tensors)

    def rows(self) -> Iterator[list[Cell]]:
        """Yield a row for each tensor, in the order of the comparison."""
        has_data, has_statistics = self._has_data, self._has_statistics
        for tensor in self.comparison.tensors:
            row = _place_cells(tensor)
            if has_data:
                row += _data_cells(tensor.outcome.metrics)
            if has_statistics:
                row += _statistics_cells(tensor)
            golden, target = tensor.outcome.golden.statistics, tensor.outcome.target.statistics
            row += [cell(getattr(side, name)) for name in NAMES for side in (target, golden)]
            yield row + _own_cells(tensor)


def cell(value: Number | None) -> Cell:
    """Return a number as a cell."""
    if value is None:
        return NOT_AVAILABLE
    if isinstance(value, complex):
        return f"({cell(value.real)},{cell(value.imag)})"
    return value if math.isfinite(value) else str(float(value))


def shape_text(side: SideOutcome) -> str:
    """As in statistic.csv: `36x128`, empty for a scalar."""
    return NOT_AVAILABLE if side.shape is None else "x".join(map(str, side.shape))


def _place_cells(tensor: ComparedTensor) -> list[Cell]:
    golden, target = tensor.golden, tensor.target
    one, other = tensor.outcome.golden, tensor.outcome.target
    return [
        *(target.name, golden.name),
        *(target.process, golden.process),
        *(target.round, golden.round),
        *(other.dtype, one.dtype),
        *(shape_text(other), shape_text(one)),
    ]


def _data_cells(metrics: Metrics | None) -> list[Cell]:
    return [cell(None if metrics is None else measure(metrics)) for measure in DATA_COLUMNS.values()]


def _statistics_cells(tensor: ComparedTensor) -> list[Cell]:
    """Of tensors with data as well: a table that has these columns is easier to read without gaps."""
    golden, target = tensor.outcome.golden.statistics, tensor.outcome.target.statistics
    apart = [difference(one, other) for one, other in _pairs(golden, target)]
    percent = [relative_percent(one, other) for one, other in _pairs(golden, target)]
    return [cell(value) for value in (*apart, *percent)]


def _pairs(golden: SideStatistics, target: SideStatistics) -> list[tuple[Number | None, Number | None]]:
    return [(getattr(golden, name), getattr(target, name)) for name in NAMES]


def _own_cells(tensor: ComparedTensor) -> list[Cell]:
    metrics = tensor.outcome.metrics
    return [
        cell(None if metrics is None else metrics.relative_distance),
        cell(None if metrics is None else metrics.peak_error),
        NOT_AVAILABLE if metrics is None else metrics.mismatches,
        tensor.verdict.value,
        "; ".join(tensor.outcome.reasons),
    ]
