"""The benchmarks measure what they say: no times here, only that the answers are the right ones and are all written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import decisions, loading, saving
from benchmarks.comparison import compare
from benchmarks.libraries import Library, peer, plain


@pytest.fixture
def ours(native_file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Library:
    """Ours; with only a moment for each measurement of a decision."""
    monkeypatch.setattr(decisions, "MILLISECONDS", 1)
    monkeypatch.setattr(decisions, "host_program", native_file)
    monkeypatch.setattr(saving, "host_program", native_file)
    monkeypatch.setattr(loading, "PAIRS", 1)
    return Library("ours", native_file("libatb_probe_abi1.so"), is_ours=True)


@pytest.mark.parametrize("scenario", decisions.SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_asks_what_it_says(ours: Library, scenario: decisions.Scenario) -> None:
    """`measure` raises where the answers are not those that the scenario is about."""
    assert decisions.measure(scenario, ours) > 0


@pytest.mark.peer
@pytest.mark.parametrize("scenario", decisions.SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_peer_is_asked_the_same(ours: Library, scenario: decisions.Scenario) -> None:
    assert decisions.measure(scenario, peer()) > 0


def test_a_wrong_answer_is_no_measurement(ours: Library) -> None:
    """Such as an operation that is dumped, where the cost of one that is not was asked for."""
    mistaken = decisions.Scenario("an unselected one", decisions.RULES, 0, [decisions.SELECTED])
    with pytest.raises(AssertionError, match="an unselected one"):
        decisions.measure(mistaken, ours)


def shortened(scenario: saving.Scenario) -> saving.Scenario:
    """A few tensors of at most 4 KiB in place of many large ones."""
    return replace(scenario, tensors=tuple((min(count, 9), min(size, 4096)) for count, size in scenario.tensors))


SAVINGS = [shortened(scenario) for scenario in saving.TRANSFERS + saving.SHORT_QUEUE + saving.STATISTICS]


@pytest.mark.parametrize("scenario", SAVINGS, ids=lambda scenario: scenario.name)
def test_everything_is_saved(ours: Library, scenario: saving.Scenario) -> None:
    """`run` raises where something is not there afterwards."""
    run = saving.run(scenario, ours)
    assert run.seconds > 0
    assert run.peak > 1 << 20


@pytest.mark.peer
@pytest.mark.parametrize("scenario", SAVINGS, ids=lambda scenario: scenario.name)
def test_the_peer_saves_everything(ours: Library, scenario: saving.Scenario) -> None:
    assert saving.run(scenario, peer()).seconds > 0


def test_plain_files_are_the_same_number(ours: Library) -> None:
    assert saving.run(shortened(saving.SMALL), plain()).seconds > 0


def test_a_loss_is_no_measurement(ours: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATBPROBE_MIN_FREE", str(1 << 60))
    with pytest.raises(AssertionError, match="0 files"):
        saving.run(shortened(saving.SMALL), ours)


def test_medians_of_rounds_in_turns(ours: Library) -> None:
    values = iter([1.0, 10.0, 2.0, 60.0, 4.0, 40.0])
    result = compare("made up", "ns", lambda library: next(values), ours, ours, 3)
    assert (result.ours, result.peer, result.ratio, result.ratios) == (2.0, 40.0, 10.0, (10.0, 30.0, 10.0))


def test_the_program_writes_what_it_prints(
    ours: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "ours", lambda: ours)
    monkeypatch.setattr(program, "is_here", lambda: False)
    monkeypatch.setattr(program, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(program, "ROUNDS", 1)
    for scenarios in ("TRANSFERS", "SHORT_QUEUE", "STATISTICS"):
        monkeypatch.setattr(saving, scenarios, [shortened(scenario) for scenario in getattr(saving, scenarios)])
    monkeypatch.setattr(saving, "SMALL", shortened(saving.SMALL))
    assert program.main() == 0
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["results"]
    moved = saving.TRANSFERS + saving.SHORT_QUEUE
    names = [scenario.name for scenario in decisions.SCENARIOS] + ["loading into /bin/true"]
    names += [scenario.name for scenario in moved + saving.STATISTICS]
    names += [f"{scenario.name}, peak memory" for scenario in moved]
    names += [f"{saving.SMALL.name}, plain files for peer"]
    assert [result["name"] for result in written] == names
    printed = capsys.readouterr().out
    assert all(name in printed for name in names)
