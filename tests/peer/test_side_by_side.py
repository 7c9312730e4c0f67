"""The comparison itself, on dumps made up for it: what it runs again, and what it never lets pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from compared import Compared
from differences import SIX_DECIMALS, UnexplainedError
from library_run import DiedError, Dump, Row
from side_by_side import MOST_RUNS, compare_complete

TABLE = "0_PID/0/statistic.csv"


def file_of(index: int) -> str:
    return f"0_PID/0/0_A/before/intensor{index}.bin"


def row(index: int, maximum: str = "0.5") -> Row:
    place = ("0_PID", "0", "A", "A", "0", "input", str(index), "float", "nd", "1")
    return (*place, maximum, maximum, maximum, maximum, file_of(index))


OURS = Dump({file_of(index): b"$End=1\n" for index in range(3)}, {TABLE: [row(index) for index in range(3)]}, 6)
PEER = replace(OURS, rows={TABLE: [row(index, "0.500000") for index in range(3)]})


def without_a_row() -> Dump:
    return replace(PEER, rows={TABLE: PEER.rows[TABLE][1:]})


def with_a_torn_row() -> Dump:
    return replace(PEER, rows={TABLE: [*PEER.rows[TABLE], ("ensor0.bin",)]})


def with_a_row_of_its_own() -> Dump:
    return replace(PEER, rows={TABLE: [*PEER.rows[TABLE], row(7, "0.500000")]})


def without_a_table() -> Dump:
    return replace(PEER, rows={})


def without_a_file() -> Dump:
    return replace(PEER, files={file_of(index): b"$End=1\n" for index in range(2)})


def dead() -> Dump:
    raise DiedError("exit code -6")


RACES = [without_a_row, with_a_torn_row, with_a_row_of_its_own, without_a_table, without_a_file, dead]


def one_after_the_other(*runs: Callable[[], Dump]) -> Callable[[], Dump]:
    following: Iterator[Callable[[], Dump]] = iter(runs)
    return lambda: next(following)()


@pytest.mark.parametrize("race", RACES)
def test_what_may_be_chance_is_run_again(race: Callable[[], Dump]) -> None:
    compared = Compared()
    differences = compare_complete(OURS, one_after_the_other(race, race, lambda: PEER), compared)
    assert differences == {SIX_DECIMALS: 3}
    assert (compared.runs, compared.runs_again) == (1, 2)
    assert compared.lost + compared.failures > 1


@pytest.mark.parametrize("race", RACES)
def test_what_is_so_in_every_run_is_no_chance(race: Callable[[], Dump]) -> None:
    compared = Compared()
    with pytest.raises(UnexplainedError, match="no run under the peer was complete"):
        compare_complete(OURS, race, compared)
    assert (compared.runs, compared.runs_again) == (0, MOST_RUNS)


@pytest.mark.parametrize(
    "peer",
    [
        replace(PEER, files={**PEER.files, file_of(1): b"$End=1\nx"}),
        replace(PEER, files={**PEER.files, file_of(7): b"$End=1\n"}),
        replace(PEER, rows={**PEER.rows, "0_PID/1/statistic.csv": []}),
        replace(PEER, rows={TABLE: [row(0, "0.500001"), *PEER.rows[TABLE][1:]]}),
        replace(PEER, rows={TABLE: [row(0, "N/A"), *PEER.rows[TABLE][1:]]}),
        replace(PEER, rows={TABLE: [row(0, "0.500000"), *PEER.rows[TABLE]]}),
        replace(PEER, host_copies=7),
    ],
    ids=["other bytes", "more files", "more tables", "other numbers", "no numbers", "a row twice", "more copies"],
)
def test_no_other_difference_passes_or_is_run_again(peer: Dump) -> None:
    compared = Compared()
    with pytest.raises(UnexplainedError):
        compare_complete(OURS, lambda: peer, compared)
    assert compared.runs_again == 0
