"""How far two tensors are apart, in double, by what was added up over them in one pass.

Two tensors of one type are added up by a native loop (`native_loop`), others by numpy (`array_sums`). Every block is
converted to double and its sums, extremes and counts are added up; nothing as large as a tensor is ever made. Blocks
whose bytes are equal, by far the most of two runs of one model, cost the statistics of one side only.

NaN and infinities are compared by their places: where both sides have the same one, the element is taken out of the
sums and counts as equal; where they do not, it is a mismatch, counts as beyond every share, and the metrics are those
of the other elements.

The definitions are those of the published `msprobe compare -m atb`:

    cosine              <t, g> / (|t| |g|); 1 if both norms are at most the epsilon of double, none if one is
    euclidean_distance  |t - g|
    max_relative_error  of |t - g| / |g|; where g is 0, |t| / epsilon
    within_1000th       share of elements whose relative error is below 1/1000, within_200th: below 5/1000

with epsilon that of float for types of up to 32 bits that are no integers, else that of double. Where it computes the
relative errors in float, they are computed in double here.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from atbprobe_rules.compare.pair_sums import PairSums, SideSums
from atbprobe_rules.compare.side_statistics import NO_STATISTICS, SideStatistics

_NORM_EPSILON = sys.float_info.epsilon


@dataclass(frozen=True, slots=True)
class Metrics:
    """Golden against target. `largest` is the largest finite magnitude in golden, the scale of `max_absolute_error`.

    Complex numbers count as two real elements each. None: not defined (cosine with one zero vector, no element).
    """

    elements: int
    identical: bool  # to the bit
    mismatches: int  # elements where one side is NaN or an infinity and the other is not the same
    cosine: float | None
    euclidean_distance: float | None
    max_absolute_error: float | None
    max_relative_error: float | None
    within_1000th: float | None
    within_200th: float | None
    golden_norm: float  # of the elements that were compared
    largest: float
    golden: SideStatistics
    target: SideStatistics

    @property
    def relative_distance(self) -> float | None:
        """The Euclidean distance in terms of golden's norm; infinite where golden is zero and target is not."""
        return None if self.euclidean_distance is None else _ratio(self.euclidean_distance, self.golden_norm)

    @property
    def peak_error(self) -> float | None:
        """The largest absolute error in terms of golden's largest magnitude; infinite likewise."""
        return None if self.max_absolute_error is None else _ratio(self.max_absolute_error, self.largest)


def metrics_of(sums: PairSums, *, is_one_type: bool, is_complex: bool) -> Metrics:
    """Return what the sums of two tensors come to."""
    some = sums.elements > 0
    golden_norm, target_norm = math.sqrt(sums.golden_squares), math.sqrt(sums.target_squares)
    statistics = [_statistics(side, sums.elements) for side in (sums.golden_side, sums.target_side)]
    if is_complex:  # there is no order among them
        statistics = [SideStatistics(None, None, None, side.norm) for side in statistics]
    return Metrics(
        elements=sums.elements,
        identical=sums.differing_blocks == 0 and is_one_type,
        mismatches=sums.mismatches,
        cosine=_cosine(sums, golden_norm, target_norm) if some else None,
        euclidean_distance=math.sqrt(sums.squared_distance) if some else None,
        max_absolute_error=sums.largest_absolute if some else None,
        max_relative_error=sums.largest_relative if some else None,
        within_1000th=sums.below_1000th / sums.elements if some else None,
        within_200th=sums.below_200th / sums.elements if some else None,
        golden_norm=golden_norm,
        largest=sums.magnitude,
        golden=statistics[0],
        target=statistics[1],
    )


def _cosine(sums: PairSums, golden_norm: float, target_norm: float) -> float | None:
    if golden_norm <= _NORM_EPSILON and target_norm <= _NORM_EPSILON:
        return 1.0
    norms = golden_norm * target_norm
    if golden_norm <= _NORM_EPSILON or target_norm <= _NORM_EPSILON or not math.isfinite(norms):
        return None
    if sums.product == sums.golden_squares == sums.target_squares:
        return 1.0  # whatever is lost in the roots
    return max(-1.0, min(1.0, sums.product / norms))


def _statistics(side: SideSums, elements: int) -> SideStatistics:
    if elements == 0:
        return NO_STATISTICS
    return SideStatistics(side.largest, side.smallest, side.sum / elements, math.sqrt(side.squares))


def _ratio(error: float, scale: float) -> float:
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else math.inf
