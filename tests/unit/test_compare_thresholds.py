"""What still counts as equal: settings, verdicts by data, and that statistics never say more than the data do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atbprobe_rules.compare.side_statistics import SideStatistics, difference, relative_percent
from atbprobe_rules.compare.thresholds import (
    DEFAULTS,
    EXACT,
    Limits,
    ThresholdError,
    Thresholds,
    coarsest_of,
    statistics_violations,
    violations,
)
from compared_arrays import compare_arrays


def violated(golden: list[Any], target: list[Any], dtype: Any, limits: Limits) -> tuple[str, ...]:
    metrics = compare_arrays(np.array(golden, dtype), np.array(target, dtype))
    return violations(metrics, limits, integers=np.dtype(dtype).kind in "iub")


def test_a_few_roundings_are_equal_and_a_percent_is_not() -> None:
    values = [1.0, -2.0, 3.0]
    limits = Thresholds().of("float16", "float16")
    assert violated(values, [value * 1.001 for value in values], np.float16, limits) == ()
    assert violated(values, [value * 1.01 for value in values], np.float16, limits) == ("distance 0.00977 above 0.005",)


def test_one_element_of_many_is_told_by_its_peak() -> None:
    golden = np.ones(100_000, np.float32)
    target = golden.copy()
    target[5] = 1.02
    found = violations(compare_arrays(golden, target), DEFAULTS["float"], integers=False)
    assert found == ("peak 0.02 above 0.001",)


def test_nan_differs_whatever_the_limits() -> None:
    assert violated([1.0, math.nan], [1.0, 2.0], np.float32, Limits()) == (
        "NaN or infinity on one side alone in 1 place",
    )
    assert violated([1.0, math.nan], [1.0, math.nan], np.float32, EXACT) == ()


def test_integers_are_exact_beyond_double() -> None:
    assert violated([2**53], [2**53 + 1], np.int64, EXACT) == ("integers that differ",)
    assert violated([0.0], [-0.0], np.float32, EXACT) == ()


def test_quantised_values_may_be_one_off() -> None:
    limits = Thresholds().of("int8", "int8")
    assert violated([100, -50, 3], [101, -50, 2], np.int8, limits) == ()
    assert violated([100, -50, 3], [102, -50, 3], np.int8, limits) == ("absolute 2 above 1",)


def test_norms_that_overflow_are_not_equal() -> None:
    assert violated([1e300], [-1e300], np.float64, DEFAULTS["double"])


def test_settings() -> None:
    thresholds = Thresholds(["distance=0.5", "float16:distance=off", "float16:cosine=0.99", "bf16:peak=1"])
    assert thresholds.of("float", "float") == Limits(distance=0.5, peak=1e-3)
    assert thresholds.of("float16", "float16") == Limits(distance=None, peak=2e-2, cosine=0.99)
    assert thresholds.of("bf16", "bf16") == Limits(distance=0.5, peak=1.0)
    assert thresholds.of("int64", "int64") == Limits(distance=0.5)


def test_of_two_types_the_wider_limits_count() -> None:
    assert Thresholds().of("bf16", "float") == DEFAULTS["bf16"]
    assert Thresholds(["cosine=0.9", "float:cosine=0.99"]).of("float", "bf16").cosine == 0.9


def test_finer_types_have_the_limits_of_what_they_come_from() -> None:
    thresholds = Thresholds(["float:peak=1e-4"])
    assert thresholds.of("float", "float", "bf16") == Limits(distance=DEFAULTS["bf16"].distance, peak=1e-4)
    assert thresholds.of("bf16", "bf16", "float16") == DEFAULTS["bf16"]
    assert thresholds.of("double", "double", "") == DEFAULTS["double"]
    assert thresholds.of("int64", "int64", "bf16") == EXACT
    assert coarsest_of(["int64", "float16", "double", "float8_e5m2"]) == "float16"
    assert coarsest_of(["int64"]) == ""


@pytest.mark.parametrize("setting", ["", "distance", "distance=", "distance=x", "distance=nan", "far=1", "F16:peak=1"])
def test_settings_that_are_none(setting: str) -> None:
    with pytest.raises(ThresholdError):
        Thresholds([setting])


def test_each_measure_can_be_held() -> None:
    golden, target = [1.0, 2.0], [1.0, 2.2]
    for setting in ("distance=0.01", "peak=0.01", "absolute=0.1", "relative=0.05", "cosine=0.9999"):
        assert violated(golden, target, np.float32, only(setting)), setting
    for setting in ("within_1000th=0.9", "within_200th=0.9"):
        assert violated(golden, target, np.float32, only(setting)), setting
    for setting in ("distance=0.1", "peak=0.2", "absolute=0.3", "relative=0.2", "cosine=0.9", "within_1000th=0.5"):
        assert violated(golden, target, np.float32, only(setting)) == (), setting


def only(setting: str) -> Limits:
    return Thresholds(["distance=off", "peak=off", setting]).of("float", "float")


def test_statistics() -> None:
    limits = DEFAULTS["float"]
    golden = SideStatistics(4.0, -1.0, 0.5, 10.0)
    assert statistics_violations(golden, SideStatistics(4.0, -1.0, 0.5, 10.0), 100, limits) == ()
    off = statistics_violations(golden, SideStatistics(4.1, -1.0, 0.5, 10.2), 100, limits)
    assert off == ("max off by 0.1", "norm off by 0.2")
    assert statistics_violations(golden, SideStatistics(4.0, -1.0, math.nan, 10.0), 100, limits) == ("mean off by nan",)
    nothing = SideStatistics(None, None, None, None)
    assert statistics_violations(golden, nothing, 100, limits) is None
    both = SideStatistics(math.nan, math.nan, math.nan, math.nan)
    assert statistics_violations(both, both, 100, limits) == ()


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3, width=32), st.floats(-10, 10, width=32)), min_size=1, max_size=30),
    st.sampled_from(["distance=0.01", "peak=0.01", "absolute=0.5", "distance=0", "distance=2"]),
)
def test_statistics_never_tell_apart_what_is_equal_by_its_data(values: list[tuple[float, float]], setting: str) -> None:
    golden = np.array([value for value, _ in values], np.float32)
    target = golden + np.array([error for _, error in values], np.float32)
    limits = only(setting)
    metrics = compare_arrays(golden, target)
    if not violations(metrics, limits, integers=False):
        assert statistics_violations(metrics.golden, metrics.target, golden.size, limits) == ()


@pytest.mark.parametrize(
    ("golden", "target", "apart", "percent"),
    [
        (2.0, 3.0, 1.0, 50.0),
        (-4.0, -5.0, -1.0, 25.0),
        (0.0, 1.0, 1.0, None),
        (0.0, 0.0, 0.0, 0.0),
        (math.inf, math.inf, 0.0, 0.0),
        (math.nan, math.nan, 0.0, 0.0),
        (3 + 4j, 3 + 4j, 0.0, 0.0),
        (3 + 4j, 0j, -3 - 4j, 100.0),
        (None, 1.0, None, None),
    ],
)
def test_differences_of_one_statistic(
    golden: complex | None, target: complex | None, apart: complex | None, percent: float | None
) -> None:
    assert difference(golden, target) == apart
    assert relative_percent(golden, target) == percent
