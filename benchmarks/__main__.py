"""`python -m benchmarks [SECTION...]`: measure, print, and write benchmarks/results.json; other sections stay there."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import comparing, compiling, decisions, explaining, loading, saving, swaps
from benchmarks.comparison import Result, compare
from benchmarks.libraries import empty, ours, peer, plain
from benchmarks.published_peer import is_here, reason_for_absence

RESULTS = Path(__file__).with_name("results.json")
ROUNDS = 7
SWAPS_OF_PEER = 5


def comparisons(rounds: int) -> Iterator[Result]:
    our_library = ours()
    peer_library = peer() if is_here() else None
    for scenario in decisions.SCENARIOS:
        measure = partial(decisions.measure, scenario)
        yield compare(scenario.name, "ns per execution", measure, our_library, peer_library, rounds)
    yield compare("loading into /bin/true", "us", loading.measure, our_library, peer_library, rounds)


def saving_comparisons(rounds: int) -> Iterator[Result]:
    our_library = ours()
    peer_library = peer() if is_here() else None
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


def measure_comparisons(of: Callable[[int], Iterator[Result]]) -> list[dict[str, Any]]:
    print(f"{'':32} {'ours':>10} {'peer':>10}  {'':16} peer / ours, median ({ROUNDS} rounds in turns, from to)")
    found = []
    for result in of(ROUNDS):
        print(table_line(result), flush=True)
        found.append(result.to_json())
    return found


def measure_loading() -> dict[str, float]:
    libraries = [empty(), ours(), *([peer()] if is_here() else [])]
    found = loading.measure_beside(libraries)
    print(f"/bin/true: {found['none']} us; longer with a library preloaded, us:")
    print("  " + ", ".join(f"{name} {value}" for name, value in found.items() if name != "none"), flush=True)
    return found


def measure_compiling() -> dict[str, float]:
    found = {name: round(milliseconds, 2) for name, milliseconds in compiling.measure().items()}
    for name, milliseconds in found.items():
        print(f"{name}: {milliseconds} ms from the content on disk to the new generation", flush=True)
    return found


def measure_explaining() -> dict[str, float]:
    found = {name: round(value, 2) for name, value in explaining.measure().items()}
    for name, value in found.items():
        print(f"{name}: {value}", flush=True)
    return found


def measure_swaps() -> list[dict[str, Any]]:
    count = f"{swaps.PROCESSES} processes"
    pause = swaps.PAUSE_MICROSECONDS
    wanted = [
        (f"{count} that pause {pause} us after each step", ours(), pause, swaps.SWAPS),
        (f"{count} that spin", ours(), 0, swaps.SWAPS),
    ]
    if is_here():
        wanted.append((f"{count} that pause {pause} us after each step", peer(), pause, SWAPS_OF_PEER))
    found = []
    for name, library, pause_microseconds, number in wanted:
        latencies = swaps.measure(name, library, pause_microseconds, number, floor=library.is_ours)
        found.append(latencies.to_json())
        print(f"{library.name}: {latencies.text()}", flush=True)
    return found


def measure_comparing() -> list[dict[str, Any]]:
    found = []
    for workload in comparing.WORKLOADS:
        result = comparing.measure(workload, comparing.ROUNDS)
        their = "" if result["peer"] is None else f"; peer {result['peer']} s, {result['ratio']}x"
        reading = f"{result['times_reading']} times the {result['reading']} s of reading both sides once"
        print(f"comparing {workload.name}: {result['ours']} s, {reading}{their}", flush=True)
        found.append(result)
    return found


SECTIONS: dict[str, Callable[[], Any]] = {
    "results": partial(measure_comparisons, comparisons),
    "saving": partial(measure_comparisons, saving_comparisons),
    "loading": measure_loading,
    "compiling": measure_compiling,
    "explaining": measure_explaining,
    "swaps": measure_swaps,
    "comparing": measure_comparing,
}


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def main(sections: list[str]) -> int:
    if unknown := set(sections) - SECTIONS.keys():
        print(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    if not is_here():
        print(f"without comparison: {reason_for_absence()}", file=sys.stderr)
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    machine = {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    content = {**before, "machine": machine, "rounds": ROUNDS}
    for section in sections or SECTIONS:
        content[section] = SECTIONS[section]()
        RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
