"""Pairs of tensors compared on several cores, answered in order.

Each worker is a process of its own that gets pairs and gives outcomes over its pipes: small tensors are mostly work of
the interpreter, which threads of one process would share. They are started as `python -m` and not forked, since numpy
and the progress bar have threads; and not by multiprocessing, which would run the program's main module once more and
leave a helper process behind. A little work is done at once, in the time that starting them takes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import BinaryIO, TypeVar

from atbprobe_rules.compare.tensor_pair import PairOutcome, TensorSource, compare_pair
from atbprobe_rules.compare.thresholds import Thresholds
from atbprobe_rules.errors import IncompleteError

Pair = tuple[TensorSource, TensorSource]

Item = TypeVar("Item")

SMALL_BYTES = 64 << 20
SMALL_PAIRS = 1000
"""So much is compared in the time in which workers come up; they are started at an eighth of it."""

BATCH_BYTES = 4 << 20
BATCH_PAIRS = 64
_MOST_WORKERS = 32


class WorkerError(IncompleteError):
    """A worker has died."""


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


class PairComparer:
    """Compares pairs of tensors, with as many workers as asked for (0: without any); they end with the block."""

    def __init__(self, thresholds: Thresholds, workers: int) -> None:
        self._thresholds = thresholds
        self._wanted = min(workers, _MOST_WORKERS)
        self._done_bytes = 0
        self._done_pairs = 0
        self._workers: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> PairComparer:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self._workers:
            worker.kill()
        if self._threads is not None:  # they find their workers dead
            self._threads.shutdown()
        for worker in self._workers:
            worker.close()

    def outcomes(self, pairs: Iterable[tuple[Item, Pair]]) -> Iterator[tuple[Item, PairOutcome]]:
        """Yield the outcome of each pair in their order, with what came with it. WorkerError if a worker has died."""
        waiting = iter(pairs)
        for item, pair in waiting:
            self._done_pairs += 1
            self._done_bytes += _bytes_of(pair)
            yield item, compare_pair(*pair, self._thresholds)
            if not self._workers and self._wanted > 1 and self._is_through(1 / 8):
                self._start()
            if self._workers and self._is_through(1):
                yield from self._by_workers(waiting)

    def _is_through(self, share: float) -> bool:
        return self._done_bytes > SMALL_BYTES * share or self._done_pairs >= SMALL_PAIRS * share

    def _start(self) -> None:
        for _ in range(self._wanted):
            self._workers.append(_Worker(self._thresholds))
            self._idle.put(self._workers[-1])
        self._threads = ThreadPoolExecutor(self._wanted, "compare")

    def _by_workers(self, pairs: Iterator[tuple[Item, Pair]]) -> Iterator[tuple[Item, PairOutcome]]:
        assert self._threads is not None
        under_way: deque[tuple[list[Item], Future[list[PairOutcome]]]] = deque()
        for items, batch in _batches(pairs):
            under_way.append((items, self._threads.submit(self._run, batch)))
            if len(under_way) > 4 * self._wanted:  # what waits to be taken must not pile up
                yield from _taken(under_way)
        while under_way:
            yield from _taken(under_way)

    def _run(self, batch: list[Pair]) -> list[PairOutcome]:
        worker = self._idle.get()
        try:
            return worker.compare(batch)
        finally:
            self._idle.put(worker)


class _Worker:
    def __init__(self, thresholds: Thresholds) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd="/",  # which is where Python looks for modules first
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt is for us, and we end them
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self._send(thresholds)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a worker that is dead, once nobody reads from it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # what was still to be sent
                    pipe.close()

    def compare(self, batch: list[Pair]) -> list[PairOutcome]:
        assert self._process.stdout is not None
        try:
            self._send(batch)
            outcomes: list[PairOutcome] = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerError("a process that compared tensors has died; the memory may not have sufficed") from error
        return outcomes

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()


def _taken(
    under_way: deque[tuple[list[Item], Future[list[PairOutcome]]]],
) -> Iterator[tuple[Item, PairOutcome]]:
    items, future = under_way.popleft()
    return zip(items, future.result(), strict=True)


def _batches(pairs: Iterator[tuple[Item, Pair]]) -> Iterator[tuple[list[Item], list[Pair]]]:
    """Few pairs each, so that all workers have some; a large one ends its batch."""
    items: list[Item] = []
    batch: list[Pair] = []
    size = 0
    for item, pair in pairs:
        items.append(item)
        batch.append(pair)
        size += _bytes_of(pair)
        if len(batch) == BATCH_PAIRS or size >= BATCH_BYTES:
            yield items, batch
            items, batch, size = [], [], 0
    if batch:
        yield items, batch


def _bytes_of(pair: Pair) -> int:
    """About as much as there is to be read; a file that is not there is found out later."""
    return sum(_size(source) for source in pair)


def _size(source: TensorSource) -> int:
    try:
        return source.path.stat().st_size if source.path is not None else 0
    except OSError:
        return 0


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """What a worker does: the thresholds, then batches of pairs come in, a list of outcomes goes out for each."""
    thresholds: Thresholds = pickle.load(requests)
    while True:
        try:
            batch: list[Pair] = pickle.load(requests)
        except EOFError:
            return
        pickle.dump([compare_pair(*pair, thresholds) for pair in batch], answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
