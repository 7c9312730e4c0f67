"""Maximum, minimum, mean and norm of one tensor, and how those of two tensors differ.

They come from statistic.csv, or from the data where only the other side has statistics alone. As there, a NaN in the
data makes all four NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from atbprobe_rules.dump.statistic_file import Number, StatisticRow

NAMES = ("max", "min", "mean", "norm")


@dataclass(frozen=True, slots=True)
class SideStatistics:
    """Of one tensor: as in statistic.csv, with NaN where the data has one. None: not defined for the type."""

    max: Number | None
    min: Number | None
    mean: Number | None
    norm: Number | None


NO_STATISTICS = SideStatistics(None, None, None, None)


def statistics_of_row(row: StatisticRow | None) -> SideStatistics:
    """Return what a row of statistic.csv says; nothing is known without one."""
    return NO_STATISTICS if row is None else SideStatistics(row.max, row.min, row.mean, row.norm)


def difference(golden: Number | None, target: Number | None) -> Number | None:
    """Target minus golden; 0 for the same infinity or NaN on both sides, NaN if one alone has it."""
    if golden is None or target is None:
        return None
    if same(golden, target):
        return 0.0
    return target - golden


def relative_percent(golden: Number | None, target: Number | None) -> float | None:
    """The difference in percent of golden; None where golden is 0 and target is not."""
    apart = difference(golden, target)
    if apart is None or golden is None:
        return None
    if apart == 0:
        return 0.0
    return None if golden == 0 else abs(apart / golden) * 100


def same(golden: Number, target: Number) -> bool:
    """Whether two numbers are equal, NaN being equal to NaN."""
    return golden == target or (_is_nan(golden) and _is_nan(target))


def _is_nan(number: Number) -> bool:
    return math.isnan(number.real) or math.isnan(number.imag)
