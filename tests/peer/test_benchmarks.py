"""The benchmarks measure what they say: no times here, only that the answers are the right ones and are all written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import comparing, compiling, decisions, libraries, loading, saving, swaps
from benchmarks.comparison import compare
from benchmarks.libraries import Library, peer, plain


@pytest.fixture
def ours(native_file: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Library:
    """Ours; with only a moment for each measurement of a decision."""
    monkeypatch.setattr(decisions, "MILLISECONDS", 1)
    monkeypatch.setattr(libraries, "built_file", native_file)
    monkeypatch.setattr(decisions, "built_file", native_file)
    monkeypatch.setattr(swaps, "built_file", native_file)
    monkeypatch.setattr(saving, "built_file", native_file)
    monkeypatch.setattr(loading, "PAIRS", 1)
    monkeypatch.setattr(loading, "ROUNDS_BESIDE", 1)
    monkeypatch.setattr(compiling, "REPEATS", 2)
    monkeypatch.setattr(
        comparing, "WORKLOADS", [replace(one, count=4, elements=128) for one in comparing.WORKLOADS[:2]]
    )
    monkeypatch.setattr(comparing, "ROUNDS", 1)
    monkeypatch.setattr(comparing, "command_line_is_here", lambda: False)
    monkeypatch.setattr(swaps, "SWAPS", 3)
    monkeypatch.setattr(swaps, "PROCESSES", 2)
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
    (tmp_path / "results.json").write_text('{"of another kind": 1, "loading": 2}')
    assert program.main([]) == 0
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    written = content["results"] + content["saving"]
    moved = saving.TRANSFERS + saving.SHORT_QUEUE
    names = [scenario.name for scenario in decisions.SCENARIOS] + ["loading into /bin/true"]
    names += [scenario.name for scenario in moved + saving.STATISTICS]
    names += [f"{scenario.name}, peak memory" for scenario in moved]
    names += [f"{saving.SMALL.name}, plain files for peer"]
    assert [result["name"] for result in written] == names
    printed = capsys.readouterr().out
    assert all(name in printed for name in names)
    assert content["of another kind"] == 1
    assert content["loading"].keys() == {"none", "empty", "ours"}
    assert all(milliseconds > 0 for milliseconds in content["compiling"].values())
    assert len(content["compiling"]) == 2
    assert [line["name"] for line in content["comparing"]] == [one.name for one in comparing.WORKLOADS]
    assert all(line["ours"] > 0 and line["peer"] is None for line in content["comparing"])
    assert [(line["library"], line["swaps"]) for line in content["swaps"]] == [("ours", 3), ("ours", 3)]
    for line in content["swaps"]:
        assert 0 < line["p50"] <= line["p99"]
        assert 0 < line["floor_p50"] <= line["floor_p99"]


def test_a_section_alone_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "RESULTS", tmp_path / "results.json")
    monkeypatch.setitem(program.SECTIONS, "compiling", lambda: {"made up": 1.0})
    (tmp_path / "results.json").write_text('{"swaps": 5, "compiling": 6}')
    assert program.main(["compiling"]) == 0
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert (content["swaps"], content["compiling"]) == (5, {"made up": 1.0})
    assert program.main(["no such thing"]) == 2
    assert "no such section: no such thing" in capsys.readouterr().err


@pytest.mark.peer_command_line
def test_both_comparisons_are_measured() -> None:
    """Each raises where it comes to no result."""
    found = comparing.measure(replace(comparing.WORKLOADS[0], count=4, elements=128), 1)
    assert found["peer"] > 0
    assert found["ours"] > 0


def test_the_large_config_is_as_large_as_it_says() -> None:
    rules = compiling.large_config()["rules"]
    terms = [term for rule in rules for field in ("ids", "op_name") for term in rule[field].split(",")]
    assert (len(rules), len(set(terms))) == (64, 1024)


@pytest.mark.parametrize("pause", [0, 1000])
def test_a_swap_that_does_not_come_is_no_measurement(
    ours: Library, monkeypatch: pytest.MonkeyPatch, pause: int
) -> None:
    """Here: the rules that are written are the same again."""
    monkeypatch.setattr(swaps, "LONGEST_WAIT_SECONDS", 0.5)
    with swaps.hosts_under(ours, pause) as hosts:
        monkeypatch.setattr(swaps, "write_rules", partial(_write_selecting_rules, swaps.write_rules))
        with pytest.raises(AssertionError, match="not all processes were reached"):
            hosts.edit()


def _write_selecting_rules(write: Callable[..., None], path: Path, *, selected: bool, number: int) -> None:
    write(path, selected=True, number=number)


@pytest.mark.peer
@pytest.mark.slow
def test_an_edit_reaches_the_peer_too(ours: Library) -> None:
    found = swaps.measure("the peer", peer(), swaps.PAUSE_MICROSECONDS, 1, floor=False)
    assert (len(found.swaps), found.floor) == (1, [])
