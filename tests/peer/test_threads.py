"""Threads that meet: what is lost to their races under each library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compared import Compared, count_rows
from library_run import OURS, PEER, DiedError, Dump, Library
from lost_setups import THREADS, start_together
from model_runs import ModelRuns
from probed_host import WAIT_SECONDS, NativeFile

pytestmark = pytest.mark.peer

STARTS = 200
# A race of the peer's shows in some runs only. Ours must be complete in every one.
RUNS = 6


@pytest.mark.parametrize("abi", [1, 0])
def test_lost_setups_on_several_threads(tmp_path: Path, native_file: NativeFile, compared: Compared, abi: int) -> None:
    """A thread that comes while another one starts the peer can be told that its operation is not to be saved."""
    bad = {}
    for library in (OURS, PEER):
        place = library.place(tmp_path, native_file, abi)
        library.take(place, {"dump_enable": True, "exec_range": "all"})
        starts = start_together(place, STARTS)
        bad[library] = [start for start in starts if not start.is_good]
        compared.notes.append(
            f"abi{abi}, {STARTS} processes whose {THREADS} threads start together, {library.name}: "
            f"{sum(start.lost_at_setup for start in starts)} operations refused by IsTensorNeedSave, "
            f"{sum(start.lost_at_execute for start in starts)} by what comes after, "
            f"{sum(start.died for start in starts)} processes died"
        )
    assert bad[OURS] == []


def run_peer(run: ModelRuns, *options: str) -> Dump | None:
    """None if the process died."""
    try:
        return run(PEER, {"task": "statistics"}, *options)
    except DiedError:
        return None


def test_models_on_several_threads_that_start_together(run: ModelRuns, compared: Compared) -> None:
    """Ids depend on which thread comes first, so that dumps cannot be compared, but everything must be there: `run`
    checks ours against the model's own word."""
    options = ("--threads", "3")
    complete = {count_rows(run(OURS, {"task": "statistics"}, *options)) for _ in range(RUNS)}
    assert len(complete) == 1
    (rows,) = complete
    found = [run_peer(run, *options) for _ in range(RUNS)]
    lost = [rows - count_rows(dump) for dump in found if dump is not None]
    assert min(lost, default=0) >= 0
    compared.notes.append(
        f"three models that start together, {RUNS} runs of {rows} rows: rows lost by the peer {lost}, "
        f"{found.count(None)} of its processes died; ours complete"
    )


def rows_of_threads(library: Library, folder: Path, native_file: NativeFile, threads: int, saves: int) -> int:
    """Return how many rows there are after that many threads did that many saves each, into one statistic.csv. A
    process that died under the peer counts with what it left."""
    place = library.place(folder, native_file, 1)
    library.take(place, {"dump_enable": True, "exec_range": "all", "task": "statistics"})
    subprocess.run(
        [native_file("save_together_abi1"), str(threads), str(saves)],
        env=place.environment(),
        stdout=subprocess.DEVNULL,
        timeout=WAIT_SECONDS,
        check=library.is_ours,
    )
    lines = [line for path in place.data.glob("*/0/statistic.csv") for line in path.read_text("utf-8").splitlines()]
    assert lines[0].startswith("Device and PID,") or not library.is_ours
    assert len(set(lines)) == len(lines) or not library.is_ours
    return len(lines) - 1


def test_twelve_threads_and_one_table(tmp_path: Path, native_file: NativeFile, compared: Compared) -> None:
    threads, saves = 12, 100
    lost = {
        library: [
            threads * saves - rows_of_threads(library, tmp_path / str(index), native_file, threads, saves)
            for index in range(RUNS)
        ]
        for library in (OURS, PEER)
    }
    assert lost[OURS] == [0] * RUNS
    assert min(lost[PEER]) >= 0
    compared.notes.append(f"{threads} threads and one table of {threads * saves} rows: lost by the peer {lost[PEER]}")
