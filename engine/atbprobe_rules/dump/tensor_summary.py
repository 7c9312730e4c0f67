"""What is in a tensor, in a few numbers: extremes, mean and norm, where it is not finite, how its values are spread.

The tensor is read in blocks, twice: the bounds of the histogram are known only after the first time. Numbers are those
of statistic.csv: sums in double or better, complex numbers compared by magnitude, `nan` where there is a NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from atbprobe_rules.dump.element_arrays import Array
from atbprobe_rules.dump.tensor import Tensor

BINS = 20
PLACES_TOLD = 8
VALUES_TOLD = 5

Value = int | float | complex


@dataclass(frozen=True)
class Place:
    """An element that is not finite: its position from 0, its index by dimension, and what it is."""

    position: int
    index: tuple[int, ...] | None
    value: Value


@dataclass(frozen=True)
class Histogram:
    """How many finite values (of complex numbers: magnitudes) lie between each two of `edges`, the last included."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Statistics:
    """Four numbers about values; all None without any."""

    max: Value | None
    min: Value | None
    mean: Value | None
    norm: float | None


@dataclass(frozen=True)
class TensorSummary:
    """`count` elements lie in the file; `statistics` are of all of them, `finite` of those that are finite.

    `nan` counts numbers of which a part is NaN; an infinite complex number is negative by its first infinite part.
    `places` are the first few that are not finite.
    """

    count: int
    statistics: Statistics
    finite: Statistics
    nan: int
    positive_infinity: int
    negative_infinity: int
    places: tuple[Place, ...]
    first: tuple[Value, ...]
    last: tuple[Value, ...]
    histogram: Histogram | None

    @property
    def not_finite(self) -> int:
        return self.nan + self.positive_infinity + self.negative_infinity


def summarize(tensor: Tensor) -> TensorSummary:
    """Read all of a tensor; raises DumpError if its elements cannot be told."""
    sums = _Sums(tensor)
    for block in tensor.blocks():
        sums.add(block)
    return sums.summary(_histogram(tensor, sums))


class _Sums:
    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.count = 0
        self.nan = self.positive = self.negative = 0
        self.places: list[Place] = []
        self.first: list[Value] = []
        self.last: list[Value] = []
        self.max: Value | None = None
        self.min: Value | None = None
        self._means: list[tuple[int, complex]] = []  # how many finite values of a block, and their mean
        self._infinite_means: list[tuple[int, complex]] = []  # of those that are not finite
        self._norm = 0.0

    def add(self, block: Array) -> None:
        block = _native(block)
        values = _wide(block)
        self.first += block[: max(VALUES_TOLD - len(self.first), 0)].tolist()
        self.last = (self.last + block[-VALUES_TOLD:].tolist())[-VALUES_TOLD:]
        finite = np.isfinite(values)
        if not finite.all():
            self._add_places(values, np.flatnonzero(~finite))
            with np.errstate(invalid="ignore"):
                self._infinite_means.append((int((~finite).sum()), _mean(values[~finite], 1.0)))
            block, values = block[finite], values[finite]
        self.count += finite.size
        if not values.size:
            return
        largest, smallest = _extremes(block, values)
        self.max = largest if self.max is None or _size(largest) > _size(self.max) else self.max
        self.min = smallest if self.min is None or _size(smallest) < _size(self.min) else self.min
        scale = _scale(values)
        self._means.append((values.size, _mean(values, scale)))
        squares = ((values.real / scale) ** 2).sum() + ((values.imag / scale) ** 2).sum()
        self._norm = math.hypot(self._norm, math.sqrt(squares) * scale)

    def _add_places(self, values: NDArray[Any], positions: NDArray[np.intp]) -> None:
        bad = values[positions]
        is_nan = np.isnan(bad)
        sign = np.where(np.isinf(bad.real), bad.real, bad.imag)
        self.nan += int(is_nan.sum())
        self.positive += int(((sign > 0) & ~is_nan).sum())
        self.negative += int(((sign < 0) & ~is_nan).sum())
        for position, value in zip(positions[: PLACES_TOLD - len(self.places)].tolist(), bad, strict=False):
            place = self.count + position
            self.places.append(Place(place, self._index(place), value.item()))

    def _index(self, position: int) -> tuple[int, ...] | None:
        if position >= self._tensor.size:
            return None  # padding
        index: list[int] = []
        for size in reversed(self._tensor.shape):
            index.append(position % size)
            position //= size
        return tuple(reversed(index))

    def summary(self, histogram: Histogram | None) -> TensorSummary:
        finite = Statistics(self.max, self.min, self._mean(self._means), None if self.max is None else self._norm)
        return TensorSummary(
            count=self.count,
            statistics=self._all(finite),
            finite=finite,
            nan=self.nan,
            positive_infinity=self.positive,
            negative_infinity=self.negative,
            places=tuple(self.places),
            first=tuple(self.first),
            last=tuple(self.last),
            histogram=histogram,
        )

    def _mean(self, means: list[tuple[int, complex]]) -> Value | None:
        total = sum(size for size, _ in means)
        if not total:
            return None
        real = _sum([mean.real * (size / total) for size, mean in means])
        if not self._is_complex:
            return real
        return complex(real, _sum([mean.imag * (size / total) for size, mean in means]))

    def _all(self, finite: Statistics) -> Statistics:
        if self.nan:
            return Statistics(math.nan, math.nan, math.nan, math.nan)
        if not self.places:
            return finite
        mean = self._mean([*self._means, *self._infinite_means])
        if self._is_complex:
            infinite = self.places[0].value
            return Statistics(infinite, infinite if self.min is None else self.min, mean, math.inf)
        largest = math.inf if self.positive else -math.inf if self.max is None else self.max
        smallest = -math.inf if self.negative else math.inf if self.min is None else self.min
        return Statistics(largest, smallest, mean, math.inf)

    @property
    def _is_complex(self) -> bool:
        return self._tensor.element_type.is_complex


def _native(block: Array) -> Array:
    """In a type of numpy's own that has all the values."""
    if block.dtype == ml_dtypes.int4:
        return block.astype(np.int8)
    return block if block.dtype.isbuiltin == 1 else block.astype(np.float32)


def _wide(block: Array) -> NDArray[Any]:
    wide: NDArray[Any] = block.astype(np.complex128 if block.dtype.kind == "c" else np.float64)
    return wide


def _mean(values: NDArray[Any], scale: float) -> complex:
    """Part by part: dividing an infinite complex number makes NaN of it."""
    return complex((values.real / scale).mean() * scale, (values.imag / scale).mean() * scale)


def _sum(parts: list[float]) -> float:
    total = sum(parts)
    return math.fsum(parts) if math.isfinite(total) else total


def _extremes(block: Array, values: NDArray[Any]) -> tuple[Value, Value]:
    """The largest and the smallest; whole numbers exactly, which a double need not be."""
    if block.dtype.kind in "iu":
        return (int(block.max()), int(block.min()))
    if values.dtype.kind == "c":
        sizes = np.abs(values / _scale(values))
        return (complex(values[sizes.argmax()]), complex(values[sizes.argmin()]))
    return (float(values.max()), float(values.min()))


def _size(value: Value) -> int | float:
    return math.hypot(value.real, value.imag) if isinstance(value, complex) else value


def _scale(values: NDArray[Any]) -> float:
    """A power of two by which squares and sums of finite values neither overflow nor vanish; nearly always 1."""
    largest = max(float(np.abs(values.real).max()), float(np.abs(values.imag).max()))
    return 1.0 if largest == 0 or 1e-100 < largest < 1e100 else math.ldexp(1.0, math.frexp(largest)[1] - 1)


def _histogram(tensor: Tensor, sums: _Sums) -> Histogram | None:
    if sums.max is None or sums.min is None:
        return None
    low, high = float(_size(sums.min)), float(_size(sums.max))
    if low == high or not math.isfinite(high - low):
        return Histogram((low, high), (sums.count - sums.nan - sums.positive - sums.negative,))
    counts = np.zeros(BINS, np.int64)
    edges = np.linspace(low, high, BINS + 1)
    for values in _finite_sizes(tensor):
        counts += np.histogram(np.clip(values, low, high), edges)[0]
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def _finite_sizes(tensor: Tensor) -> Iterator[NDArray[Any]]:
    for block in tensor.blocks():
        values = _wide(_native(block))
        values = values[np.isfinite(values)]
        yield np.abs(values) if values.dtype.kind == "c" else values
