"""`atbprobe-rules explain CONFIG --ops`: one answer for each line, the same as the recorded ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"
GOOD = {"dump_enable": True, "exec_range": "0,1", "ids": "2_1", "task": "all"}
SELECTED = "0_1/0/2_Prefill_layer/1_Attention"
OTHER = "0_1/0/2_Prefill_layer/0_RmsNorm"


def explain(config: Path, ops: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "explain", str(config), "--ops", "-", *options],
        input=ops,
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
