"""`atbprobe-rules explain CONFIG`: with --ops one answer for each line, the same as the recorded ones; with --program
the tables."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"
GOOD = {"dump_enable": True, "exec_range": "0,1", "ids": "2_1", "task": "all"}
SELECTED = "0_1/0/2_Prefill_layer/1_Attention"
OTHER = "0_1/0/2_Prefill_layer/0_RmsNorm"


def explain(config: Path, ops: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run(config, "--ops", "-", *options, given=ops)


def run(config: Path, *options: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "explain", str(config), *options],
        input=given,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GOOD))
    path.chmod(0o600)
    return path


def test_an_object_for_each_line_in_order(config: Path) -> None:
    done = explain(config, f"1\t{SELECTED}\n{OTHER}\n2\t{SELECTED}\n{SELECTED}\nnonsense\n", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0] == {
        "round": 1,
        "round_from": "argument",
        "dir": SELECTED,
        "selected": True,
        "rules": ["1"],
        "in": ["tensor", "statistics"],
        "out": ["tensor", "statistics"],
    }
    assert answers[1] == {
        "round": 0,
        "round_from": "dir",
        "dir": OTHER,
        "selected": False,
        "rules": [],
        "in": [],
        "out": [],
    }
    assert [answer["selected"] for answer in answers] == [True, False, False, True, False]
    assert (answers[4]["round"], answers[4]["dir"]) == (None, "nonsense")


def test_for_people_a_line_each(config: Path) -> None:
    done = explain(config, f"{SELECTED}\n{OTHER}\n")
    assert done.stdout.splitlines() == [
        f"+  {SELECTED}  (round 0; rule 1; in: tensor+statistics; out: tensor+statistics)",
        f"-  {OTHER}  (round 0)",
    ]


def test_rules_that_ask_for_values_are_shown_with_what_they_ask_for(config: Path) -> None:
    """The answer as data says what would be kept."""
    rules = [{"name": "bad", "when": "NaN | abs>1e3"}, {"task": "statistics", "io": "in", "stop_after": 1}]
    config.write_text(json.dumps({"dump_enable": True, "exec_range": "all", "ids": "2_1", "rules": rules}))
    done = explain(config, f"{SELECTED}\n" * 2)
    line = f"+  {SELECTED}  (round 0; rule bad (when nan|abs > 1000), 2; in: tensor+statistics; out: tensor)"
    assert done.stdout.splitlines() == [line, line]
    answers = [json.loads(line) for line in explain(config, f"{SELECTED}\n" * 2, "--json").stdout.splitlines()]
    assert answers[0] == answers[1]
    kept = (answers[0]["rules"], answers[0]["in"], answers[0]["out"])
    assert kept == (["bad", "2"], ["tensor", "statistics"], ["tensor"])


def test_names_of_any_bytes_come_back_as_they_were(config: Path) -> None:
    directory = "0_1/0/2_Mlp<Silu>:0 \udcff\u2028x"
    done = explain(config, f"{directory}\n", "--json")
    [answer] = [json.loads(line) for line in done.stdout.splitlines()]
    assert answer["dir"] == directory


def test_a_refused_config_says_why_on_stderr_and_nothing_on_stdout(config: Path) -> None:
    config.write_text('{"dump_enable": true, "ids": 2}')
    done = explain(config, f"{SELECTED}\n", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{config}:1:30: error[wrong-type]" in done.stderr


def test_a_config_that_others_may_write_can_be_explained(config: Path) -> None:
    config.chmod(0o666)
    assert explain(config, f"{SELECTED}\n", "--json").returncode == 0


def test_a_missing_config_is_said(config: Path) -> None:
    config.unlink()
    done = explain(config, "", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such file" in done.stderr


def test_a_line_that_is_no_round_is_a_usage_error(config: Path) -> None:
    done = explain(config, f"0\t{SELECTED}\nx\t{SELECTED}\n", "--json")
    assert done.returncode == 2
    assert "line 2" in done.stderr


def test_it_answers_as_recorded(config: Path) -> None:
    """Some of the records; the tests of agreement ask them all of the engine behind this command."""
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()][::40]
    for record in records:
        config.write_text(json.dumps(record["config"]))
        ops = "".join(f"{number}\t{directory}\n" for number, directory, _, _ in record["queries"])
        done = explain(config, ops, "--json")
        selected = [json.loads(line)["selected"] for line in done.stdout.splitlines()]
        recorded = [bool(in_range and in_dir) for _, _, in_range, in_dir in record["queries"]]
        assert selected == recorded, record["config"]


def test_the_program_for_people(config: Path) -> None:
    config.write_text(json.dumps({**GOOD, "op_name": "ab,c/d", "device": "3", "save_child": True}))
    done = run(config, "--program")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert f"  config SHA-256 {hashlib.sha256(config.read_bytes()).hexdigest()}" in lines
    tables = tables_of(lines)
    assert tables["rules"] == [
        "1: ids and names, any of them; in: tensor+statistics; out: tensor+statistics; with all below"
    ]
    assert tables["rounds -> rules"] == ["0-1 -> 1", "2- -> none"]
    assert tables["devices -> rules"] == ["0-2 -> none", "3 -> 1", "4- -> none", "unknown -> none"]
    assert tables["id automaton, classes of bytes"] == [r"0: \x00-0 3-^ `-\xff", "1: 1", "2: 2", "3: _"]
    assert tables["id automaton, states"] == [
        "0: dead",
        "1: start; 2 -> 2, else -> 0",
        "2: _ -> 3, else -> 0",
        "3: 1 -> 4, else -> 0",
        "4: all -> 0; here and below: 1",
    ]
    said = [state.partition("; ")[2] for state in tables["name automaton, states"]]
    assert sorted(filter(None, said))[-3:] == ["here and below: 1", "position: 0", "position: 1"]
    assert tables["positions of path terms"] == ["0: begins a term", "1: here and below: 1"]
    sizes = dict(re.findall(r"^  (\w+) .* ([\d,]+) bytes$", done.stdout, flags=re.MULTILINE))
    [total] = re.findall(r"^program: ([\d,]+) bytes$", done.stdout, flags=re.MULTILINE)
    assert 0 < sum(map(as_number, sizes.values())) < as_number(total)


def test_the_program_as_one_object(config: Path) -> None:
    done = run(config, "--program", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    program = json.loads(line)
    assert program["rules"] == [
        {
            "name": "1",
            "enabled": True,
            "selects": "terms",
            "match": "any",
            "save_child": False,
            "in": ["tensor", "statistics"],
            "out": ["tensor", "statistics"],
        }
    ]
    assert [numbers["rules"] for numbers in program["rounds"]] == [["1"], []]
    assert program["names"] is None


def test_conditions_and_limits_are_part_of_the_program(config: Path) -> None:
    limits = {"stop_after": 3, "max_bytes": "1 KiB", "max_tensor_bytes": 9, "when": "inf|nan"}
    config.write_text(json.dumps({"max_bytes": "1 MiB", "rules": [limits, {"next": 2}]}))
    done = run(config, "--program", "--json")
    program = json.loads(done.stdout)
    assert program["max_bytes"] == 1 << 20
    own = [{key: rule[key] for key in [*limits, "next"] if key in rule} for rule in program["rules"]]
    assert own == [{**limits, "max_bytes": 1024, "when": "nonfinite"}, {"next": 2}]
    tables = tables_of(run(config, "--program").stdout.splitlines())
    assert any("max_bytes 1048576, of all rules together" in lines for lines in tables.values())
    said = "when nonfinite; stop_after 3; max_bytes 1024; max_tensor_bytes 9"
    assert tables["rules"] == [
        f"1: off; layers; in: tensor; out: tensor; {said}",
        "2: off; layers; in: tensor; out: tensor; next 2",
    ]


def test_long_tables_are_cut_unless_all_is_asked_for(config: Path) -> None:
    config.write_text(json.dumps({**GOOD, "ids": ",".join(f"{number}_{number**2}" for number in range(100, 200, 9))}))
    cut, whole = (run(config, "--program", *options).stdout.splitlines() for options in ([], ["--all"]))
    states, all_states = (tables_of(lines)["id automaton, states"] for lines in (cut, whole))
    assert states[:-1] == all_states[: len(states) - 1]
    left_out = len(all_states) - len(states) + 1
    assert states[-1] == f"... and {left_out} more lines: --all shows them"


def test_a_refused_config_has_no_program(config: Path) -> None:
    config.write_text('{"ids": 2}')
    done = run(config, "--program")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[wrong-type]" in done.stderr


@pytest.mark.parametrize("options", [["--ops", "-", "--program"], ["--ops", "-", "--all"], ["--all"]], ids=str)
def test_one_thing_is_explained_at_a_time(config: Path, options: list[str]) -> None:
    done = run(config, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: atbprobe-rules explain" in done.stderr


def tables_of(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each table by its title."""
    tables: dict[str, list[str]] = {}
    table: list[str] = []
    for line in lines:
        if line.startswith("  "):
            table.append(line[2:])
        else:
            table = tables.setdefault(line, [])
    return tables


def as_number(text: str) -> int:
    return int(text.replace(",", ""))
