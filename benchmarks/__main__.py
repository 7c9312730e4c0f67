"""`python -m benchmarks`: measure, print a table, and write benchmarks/results.json."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import decisions, loading, saving
from benchmarks.comparison import Result, compare
from benchmarks.libraries import ours, peer, plain
from benchmarks.published_peer import is_here, reason_for_absence

RESULTS = Path(__file__).with_name("results.json")
ROUNDS = 7


def results(rounds: int) -> Iterator[Result]:
    our_library = ours()
    peer_library = peer() if is_here() else None
    for scenario in decisions.SCENARIOS:
        measure = partial(decisions.measure, scenario)
        yield compare(scenario.name, "ns per execution", measure, our_library, peer_library, rounds)
    yield compare("loading into /bin/true", "us", loading.measure, our_library, peer_library, rounds)
    for transfer in saving.TRANSFERS + saving.SHORT_QUEUE + saving.STATISTICS:
        yield compare(transfer.name, "ms", partial(saving.milliseconds, transfer), our_library, peer_library, rounds)
    for transfer in saving.TRANSFERS + saving.SHORT_QUEUE:
        peak = partial(saving.peak_mebibytes, transfer)
        yield compare(f"{transfer.name}, peak memory", "MiB", peak, our_library, peer_library, rounds)
    small = saving.SMALL
    name = f"{small.name}, plain files for peer"
    yield compare(name, "ms", partial(saving.milliseconds, small), our_library, plain(), rounds)


def table_line(result: Result) -> str:
    their = "-" if result.peer is None else f"{result.peer:10.1f}"
    ratio = (
        "-" if result.ratio is None else f"{result.ratio:7.1f}x ({min(result.ratios):.1f} to {max(result.ratios):.1f})"
    )
    return f"{result.name:32} {result.ours:10.1f} {their:>10}  {result.unit:16} {ratio}"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def main() -> int:
    if not is_here():
        print(f"without comparison: {reason_for_absence()}", file=sys.stderr)
    print(f"{'':32} {'ours':>10} {'peer':>10}  {'':16} peer / ours, median ({ROUNDS} rounds in turns, from to)")
    found = []
    for result in results(ROUNDS):
        print(table_line(result), flush=True)
        found.append(result)
    machine = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    content = {"machine": machine, "rounds": ROUNDS, "results": [result.to_json() for result in found]}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
