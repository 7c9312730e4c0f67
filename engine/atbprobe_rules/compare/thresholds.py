"""How far two tensors may be apart and still count as equal, by dtype.

The defaults are some ten roundings of the type: what another kernel, or another order of a sum, makes of the same
numbers. Two measures are held against them, since either alone lets something through:

    distance   |t - g| / |g|, by which a tensor is off as a whole
    peak       max|t - g| / max|g|, by which a single element is off in a tensor of millions

A tensor is no more precise than what it was computed from. Where a round has tensors of float16 or bf16, those limits
hold for its finer types, too; else every cast to float would be where a difference seems to begin.

Integers, bool and text must be equal; int8 and int4, to which activations are quantised, may be one off. Where only
statistics are at hand they are held against what the same limits let them be: no element further off than `peak`
allows means no maximum or minimum further off, and by the triangle inequality the norm differs by no more than the
distance, the mean by no more than the distance over the root of the number of elements. So statistics never tell
tensors apart that count as equal by their data.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atbprobe_rules.compare.metrics import Metrics
from atbprobe_rules.compare.side_statistics import NAMES, SideStatistics, difference
from atbprobe_rules.errors import AtbprobeError

ROUNDING = 1e-12
"""Relative: sums in double in two orders differ by less."""


class ThresholdError(AtbprobeError):
    """A threshold that cannot be taken."""


@dataclass(frozen=True)
class Limits:
    """The most, of cosine and the shares the least, that still counts as equal; what is None is not looked at."""

    distance: float | None = None
    peak: float | None = None
    absolute: float | None = None
    relative: float | None = None
    cosine: float | None = None
    within_1000th: float | None = None
    within_200th: float | None = None


MEASURES = tuple(field.name for field in dataclasses.fields(Limits))

EXACT = Limits(distance=0.0)
_QUANTISED = Limits(absolute=1.0)

DEFAULTS: Mapping[str, Limits] = {
    "double": Limits(distance=1e-9, peak=1e-8),
    "complex128": Limits(distance=1e-9, peak=1e-8),
    "float": Limits(distance=1e-4, peak=1e-3),
    "complex64": Limits(distance=1e-4, peak=1e-3),
    "float16": Limits(distance=5e-3, peak=2e-2),
    "complex32": Limits(distance=5e-3, peak=2e-2),
    "bf16": Limits(distance=2e-2, peak=5e-2),
    "hifloat8": Limits(distance=0.1, peak=0.25),
    "float8_e4m3fn": Limits(distance=0.1, peak=0.25),
    "float6_e2m3": Limits(distance=0.1, peak=0.25),
    "float8_e5m2": Limits(distance=0.2, peak=0.5),
    "float6_e3m2": Limits(distance=0.2, peak=0.5),
    "float8_e8m0": Limits(distance=0.3, peak=0.5),
    "float4_e2m1": Limits(distance=0.3, peak=0.5),
    "float4_e1m2": Limits(distance=0.3, peak=0.5),
    "int8": _QUANTISED,
    "int4": _QUANTISED,
}
"""By the names that statistic.csv has; EXACT for every other type."""

COARSENESS = ("double", "float", "float16", "bf16")
"""Types of computing, the finest first; smaller ones are for storing."""

_SETTING = re.compile(r"(?:(?P<dtype>[a-z][a-z0-9_]*):)?(?P<measure>[a-z0-9_]+)=(?P<value>\S+)")
_LEAST = ("cosine", "within_1000th", "within_200th")


class Thresholds:
    """The limits of each dtype: the defaults, and what has been set over them."""

    def __init__(self, settings: Iterable[str] = ()) -> None:
        """Take settings `MEASURE=VALUE`, for all types, or `DTYPE:MEASURE=VALUE`; a later one wins.

        The value is a number, or `off` for what is not to be looked at. Raises ThresholdError.
        """
        self._for_all: dict[str, float | None] = {}
        self._by_dtype: dict[str, dict[str, float | None]] = {}
        self._found: dict[tuple[str, str, str], Limits] = {}
        for setting in settings:
            self._set(setting)

    def of(self, golden: str, target: str, coarsest: str = "") -> Limits:
        """Return the limits for a pair of dtypes; of two, the wider ones.

        `coarsest`, if it is one of COARSENESS, is the coarsest type of the round.
        """
        key = (golden, target, coarsest)
        found = self._found.get(key)
        if found is None:
            limits = self._of_one(golden, coarsest)
            found = self._found[key] = limits if golden == target else _wider(limits, self._of_one(target, coarsest))
        return found

    def _of_one(self, dtype: str, coarsest: str) -> Limits:
        base = dtype
        if dtype in COARSENESS and coarsest in COARSENESS:
            base = max(dtype, coarsest, key=COARSENESS.index)
        limits = dataclasses.replace(DEFAULTS.get(base, EXACT), **self._for_all)
        return dataclasses.replace(limits, **self._by_dtype.get(dtype, {}))

    def _set(self, setting: str) -> None:
        match = _SETTING.fullmatch(setting)
        if match is None:
            raise ThresholdError(f"{setting!r} is not MEASURE=VALUE or DTYPE:MEASURE=VALUE")
        measure, dtype = match["measure"], match["dtype"]
        if measure not in MEASURES:
            raise ThresholdError(f"there is no measure {measure!r}, only {', '.join(MEASURES)}")
        place = self._for_all if dtype is None else self._by_dtype.setdefault(dtype, {})
        place[measure] = None if match["value"] == "off" else _number(match["value"], setting)


def coarsest_of(dtypes: Iterable[str]) -> str:
    """Return the coarsest type of computing among dtypes; empty if there is none."""
    return max((dtype for dtype in dtypes if dtype in COARSENESS), key=COARSENESS.index, default="")


def violations(metrics: Metrics, limits: Limits, *, integers: bool) -> tuple[str, ...]:
    """Return in what two tensors are further apart than they may be; empty if they count as equal."""
    if metrics.identical or metrics.elements == 0:
        return ()
    if metrics.mismatches:
        places = "place" if metrics.mismatches == 1 else "places"
        return (f"NaN or infinity on one side alone in {metrics.mismatches:,} {places}",)
    measured = {
        "distance": metrics.relative_distance,
        "peak": metrics.peak_error,
        "absolute": metrics.max_absolute_error,
        "relative": metrics.max_relative_error,
        "cosine": metrics.cosine,
        "within_1000th": metrics.within_1000th,
        "within_200th": metrics.within_200th,
    }
    found = []
    for measure, value in measured.items():
        limit = getattr(limits, measure)
        if limit is None or (measure == "cosine" and value is None):
            continue
        assert value is not None
        # Written so that a NaN, the ratio of two infinite norms, does not pass.
        if measure in _LEAST and not value >= limit:
            found.append(f"{measure} {value:.6g} below {limit:g}")
        elif measure not in _LEAST and not value <= limit:
            found.append(f"{measure} {value:.3g} above {limit:g}")
    # 2**53 and 2**53 + 1 are one double.
    if not found and integers and limits == EXACT:
        found.append("integers that differ")
    return tuple(found)


def statistics_violations(
    golden: SideStatistics, target: SideStatistics, elements: int, limits: Limits
) -> tuple[str, ...] | None:
    """As `violations`, by the statistics alone of tensors of so many elements. None if there is nothing to go by."""
    allowed = _allowed(golden, elements, limits)
    found = []
    known = False
    for name in NAMES:
        apart = difference(getattr(golden, name), getattr(target, name))
        if apart is None:
            continue
        known = True
        limit = allowed[name]
        if apart != 0 and not abs(apart) <= limit:
            found.append(f"{name} off by {abs(apart):.3g}")
    return tuple(found) if known else None


def _allowed(golden: SideStatistics, elements: int, limits: Limits) -> dict[str, float]:
    """What each statistic may be off. One that no limit bears on may be off by anything but NaN."""
    extremes = [abs(value) for value in (golden.max, golden.min) if value is not None]
    largest = max(extremes, default=0.0)
    norm = math.inf if golden.norm is None else abs(golden.norm)
    peak = math.inf
    if limits.peak is not None:
        peak = limits.peak * largest
    if limits.absolute is not None:
        peak = min(peak, limits.absolute)
    length = math.inf if limits.distance is None else limits.distance * norm
    root = math.sqrt(max(elements, 1))
    # No element is further off than all of them together, and these by no more than if each were as far off.
    peak, length = min(peak, length), min(length, peak * root)
    slack = ROUNDING * norm if math.isfinite(norm) else 0.0
    peak_mean = min(peak, length / root)
    return {"max": peak, "min": peak, "mean": peak_mean + slack / root, "norm": length + slack}


def _wider(one: Limits, other: Limits) -> Limits:
    def wider(measure: str) -> float | None:
        first: float | None = getattr(one, measure)
        second: float | None = getattr(other, measure)
        if first is None or second is None:
            return None
        return min(first, second) if measure in _LEAST else max(first, second)

    return Limits(**{measure: wider(measure) for measure in MEASURES})


def _number(text: str, setting: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ThresholdError(f"{setting!r}: {text!r} is no number")
    return value
