"""Pairs of tensors compared on several cores, answered in order.

The work is done by threads: the native loop reads and compares without the interpreter's lock.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from atbprobe_rules.compare.tensor_pair import Pair, PairOutcome, compare_pairs
from atbprobe_rules.compare.thresholds import Thresholds

Item = TypeVar("Item")

BATCH_PAIRS = 64
BATCH_ELEMENTS = 1 << 20
"""Handing over one pair alone would cost as much as comparing two small tensors; a large one goes by itself."""

_MOST_WORKERS = 32


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


class PairComparer:
    """Compares pairs of tensors, with as many threads as asked for (0: without any); they end with the block."""

    def __init__(self, thresholds: Thresholds, workers: int) -> None:
        self._thresholds = thresholds
        self._wanted = min(workers, _MOST_WORKERS)
        self._cancelled = threading.Event()
        self._threads = ThreadPoolExecutor(self._wanted, "compare") if self._wanted > 1 else None

    def __enter__(self) -> PairComparer:
        return self

    def __exit__(self, *_error: object) -> None:
        self._cancelled.set()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def outcomes(self, pairs: Iterable[tuple[Item, Pair]]) -> Iterator[tuple[Item, Pair, PairOutcome]]:
        """Yield each pair in their order, with what came with it, and its outcome."""
        if self._threads is None:
            for batch in _batches(pairs):
                yield from _with_outcomes(batch, self._compare(batch))
            return
        under_way: deque[tuple[list[tuple[Item, Pair]], Future[list[PairOutcome]]]] = deque()
        for batch in _batches(pairs):
            under_way.append((batch, self._threads.submit(self._compare, batch)))
            if len(under_way) > 4 * self._wanted:  # what waits to be taken must not pile up
                first, future = under_way.popleft()
                yield from _with_outcomes(first, future.result())
        for batch, future in under_way:
            yield from _with_outcomes(batch, future.result())

    def _compare(self, batch: list[tuple[Item, Pair]]) -> list[PairOutcome]:
        return compare_pairs([pair for _, pair in batch], self._thresholds, self._cancelled.is_set)


def _with_outcomes(
    batch: list[tuple[Item, Pair]], outcomes: list[PairOutcome]
) -> Iterator[tuple[Item, Pair, PairOutcome]]:
    return ((item, pair, outcome) for (item, pair), outcome in zip(batch, outcomes, strict=True))


def _batches(pairs: Iterable[tuple[Item, Pair]]) -> Iterator[list[tuple[Item, Pair]]]:
    batch: list[tuple[Item, Pair]] = []
    elements = 0
    for item, pair in pairs:
        batch.append((item, pair))
        elements += _elements(pair)
        if len(batch) == BATCH_PAIRS or elements >= BATCH_ELEMENTS:
            yield batch
            batch, elements = [], 0
    if batch:
        yield batch


def _elements(pair: Pair) -> int:
    """As many as the row of one side tells; as many as make a batch if there is none."""
    shapes = [tensor.row.shape for tensor in pair.sides if tensor.row is not None]
    return next((math.prod(shape) for shape in shapes if shape is not None), BATCH_ELEMENTS)
