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

    def outcomes(self, pairs: Iterable[tuple[Item, Pair]]) -> Iterator[tuple[Item, PairOutcome]]:
        """Yield the outcome of each pair in their order, with what came with it."""
        if self._threads is None:
            for items, batch in _batches(pairs):
                yield from zip(items, self._compare(batch), strict=True)
            return
        under_way: deque[tuple[list[Item], Future[list[PairOutcome]]]] = deque()
        for items, batch in _batches(pairs):
            under_way.append((items, self._threads.submit(self._compare, batch)))
            if len(under_way) > 4 * self._wanted:  # what waits to be taken must not pile up
                yield from _taken(under_way)
        while under_way:
            yield from _taken(under_way)

    def _compare(self, batch: list[Pair]) -> list[PairOutcome]:
        return compare_pairs(batch, self._thresholds, self._cancelled.is_set)


def _taken(
    under_way: deque[tuple[list[Item], Future[list[PairOutcome]]]],
) -> Iterator[tuple[Item, PairOutcome]]:
    items, future = under_way.popleft()
    return zip(items, future.result(), strict=True)


def _batches(pairs: Iterable[tuple[Item, Pair]]) -> Iterator[tuple[list[Item], list[Pair]]]:
    items: list[Item] = []
    batch: list[Pair] = []
    elements = 0
    for item, pair in pairs:
        items.append(item)
        batch.append(pair)
        elements += _elements(pair)
        if len(batch) == BATCH_PAIRS or elements >= BATCH_ELEMENTS:
            yield items, batch
            items, batch, elements = [], [], 0
    if batch:
        yield items, batch


def _elements(pair: Pair) -> int:
    """As many as the row of one side tells; as many as make a batch if there is none."""
    shapes = [source.tensor.row.shape for source in pair if source.tensor.row is not None]
    return next((math.prod(shape) for shape in shapes if shape is not None), BATCH_ELEMENTS)
