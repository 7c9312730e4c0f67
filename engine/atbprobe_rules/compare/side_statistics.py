"""Maximum, minimum, mean and norm of one tensor, and how those of two tensors differ.

They come from statistic.csv, or from the data where only the other side has statistics alone. As there, a NaN in the
data makes all four NaN.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

Number = float | complex

NAMES = ("max", "min", "mean", "norm")

_COMPLEX = re.compile(r"\((?P<real>[^,]+),(?P<imaginary>[^,]+)\)")


@dataclass(frozen=True)
class SideStatistics:
    """Of one tensor: as in statistic.csv, with NaN where the data has one. None: not defined for the type."""

    max: float | complex | None
    min: float | complex | None
    mean: float | complex | None
    norm: float | None


NO_STATISTICS = SideStatistics(None, None, None, None)


def parse_statistics(largest: str, smallest: str, mean: str, norm: str) -> SideStatistics:
    """Return what four cells of statistic.csv say; a cell that is no number, such as N/A, is None."""
    length = parse_number(norm)
    return SideStatistics(
        parse_number(largest),
        parse_number(smallest),
        parse_number(mean),
        None if isinstance(length, complex) else length,
    )


def parse_number(text: str) -> Number | None:
    """Return the number in a cell: `3.2e-07`, `nan`, `-inf` or, of complex numbers, `(re,im)`; None for other text."""
    match = _COMPLEX.fullmatch(text)
    try:
        return float(text) if match is None else complex(float(match["real"]), float(match["imaginary"]))
    except ValueError:
        return None


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
