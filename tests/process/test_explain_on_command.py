"""`atbprobe-rules explain` with a catalogue, as a command: what it prints, as text and as data, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LAYERS = 34
CONFIG: dict[str, Any] = {
    "dump_enable": True,
    "exec_range": "0-20/10",
    "rules": [
        {"name": "attention", "op_name": "attention", "save_child": True, "device": "0"},
        {"ids": "2_1", "io": "out", "task": "all", "when": "nan"},
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a config, and a list of 34 layers of two processes."""
    lines = []
    for process in ("0_7", "1_8"):
        lines.append(f"{process}/0/0_WordEmbedding")
        for layer in range(1, LAYERS + 1):
            for op in ("0_RmsNorm", "1_Attention/0_Linear/0_MatMulKernel", "2_Mlp/0_Linear"):
                lines.append(f"{process}/0/{layer}_Decoder_layer/{op}")
    (tmp_path / "ops.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explain(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "explain", *words],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def lines_of(*words: str) -> list[str]:
    return explain("config.json", *words).stdout.splitlines()


def data_of(*words: str) -> Any:
    [line] = explain("config.json", *words, "--json").stdout.splitlines()
    return json.loads(line)


def column_of(folder: Path, text: str) -> int:
    return (folder / "config.json").read_text().index(text) + 1


def test_rules_in_sentences(folder: Path) -> None:
    assert lines_of() == [
        "config.json",
        '  rule attention keeps data of the inputs and outputs of operations whose name begins with "attention" '
        "and all below them, in rounds 0, 10, 20, on device 0",
        "  rule 2 keeps data and statistics of the outputs of operations 2_1, in rounds 0, 10, 20, on every device, if "
        "an output holds nan",
        "  filter_level 1: below layers selected with save_child, a tensor that is stored already becomes a reference",
        "  decided before anything is copied: exec_range, device, ids, op_name",
        "  decided at the copy or after it, and taken as met here: when",
    ]
    rules = data_of()["rules"]
    assert rules[0]["rounds"] == {"first": [0, 10, 20], "count": 3}
    assert (rules[1]["ids"], rules[1]["in"], rules[1]["out"]) == (["2_1"], [], ["tensor", "statistics"])


def test_a_tree_folded_where_it_is_alike(folder: Path) -> None:
    said = lines_of("--on", "ops.txt")
    count = LAYERS * 3 + 1
    total = 2 * (1 + LAYERS * 7)
    assert f"{count} of {total} operations selected, rounds 0, 10, 20" in said
    at = said.index("process 0_7")
    assert said[at : said.index("process 1_8")] == [
        "process 0_7",
        "  - 0_WordEmbedding",
        "  - 1_Decoder_layer",
        "    - 0_RmsNorm",
        "    + 1_Attention and all 2 below  (rule attention; in: tensor; out: tensor)",
        "    - 2_Mlp and 1 below",
        "  - 2_Decoder_layer",
        "    - 0_RmsNorm",
        "    + 1_Attention  (rule attention, 2; in: tensor; out: tensor+statistics)",
        "      + 0_Linear and 1 below  (rule attention; in: tensor; out: tensor)",
        "    - 2_Mlp and 1 below",
        "  - 3_Decoder_layer",
        "    - 0_RmsNorm",
        "    + 1_Attention and all 2 below  (rule attention; in: tensor; out: tensor)",
        "    - 2_Mlp and 1 below",
        f"    {LAYERS - 3} more Decoder_layer alike (ids 4 to {LAYERS})",
    ]
    assert said[-1] == f"the sizes of {count} selected operations are not known: they come on top"
    unfolded = lines_of("--on", "ops.txt", "--all")
    assert sum(line.lstrip().startswith(("+ ", "- ")) for line in unfolded) == total
    assert sum(line.lstrip().startswith("+ ") for line in unfolded) == count


def test_processes_that_are_alike_are_folded(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"dump_enable": True}))
    said = lines_of("--on", "ops.txt")
    assert "1 more process alike: 1_8" in said
    assert "  + 1_Decoder_layer  (rule 1; in: tensor; out: tensor)" in said


def test_the_same_as_data(folder: Path) -> None:
    found = data_of("--on", "ops.txt")
    assert (found["operations"], found["selected"]) == (2 * (1 + LAYERS * 7), LAYERS * 3 + 1)
    assert len(found["ops"]) == found["operations"]
    chosen = [op for op in found["ops"] if op["selected"]]
    assert len(chosen) == found["selected"]
    assert {op["process"] for op in chosen if "attention" in op["rules"]} == {"0_7"}
    both = next(op for op in chosen if op["rules"] == ["attention", "2"])
    assert (both["id_path"], both["in"], both["out"]) == ("2_1", ["tensor"], ["tensor", "statistics"])
    assert found["bytes"]["operations_without_sizes"] == found["selected"]


def test_nothing_selected_is_said_loudly_with_what_is_near(folder: Path) -> None:
    rules = {"dump_enable": True, "ids": "1_7,99", "op_name": "atention", "exec_range": "all"}
    (folder / "config.json").write_text(json.dumps(rules))
    said = lines_of("--on", "ops.txt")
    assert f"NOTHING IS SELECTED: none of {2 * (1 + LAYERS * 7)} operations" in said
    text = "\n".join(said)
    assert f'no operation is "1_7": below 1 there is 0 to 2 (config.json:1:{column_of(folder, "1_7")})' in text
    layers = f"layer-level operations are 0 to {LAYERS}"
    assert f'no operation is "99": {layers} (config.json:1:{column_of(folder, "99")})' in text
    assert 'no operation has the name "atention": nearest to "atention" is "Attention"' in text
    assert [miss["term"] for miss in data_of("--on", "ops.txt")["nearest"]] == ["1_7", "99", "atention"]


@pytest.mark.parametrize(
    "rules, reason",
    [
        ({"dump_enable": False}, 'dumping is off: "dump_enable" is false'),
        ({"device": "3"}, "no process is on device 3: there is only device 0, 1"),
        ({"exec_range": "none"}, "it has no round"),
        ({"ids": "1", "op_name": "!Decoder_layer"}, '"!decoder_layer" takes away 2 operations that it would take'),
        ({"ids": "1", "op_name": "mlp", "match": "all"}, 'no operation is taken by both "ids" and "op_name"'),
    ],
)
def test_why_nothing_is_selected(folder: Path, rules: dict[str, Any], reason: str) -> None:
    (folder / "config.json").write_text(json.dumps({"dump_enable": True, **rules}))
    assert any(reason in line for line in lines_of("--on", "ops.txt"))


def test_fail_empty(folder: Path) -> None:
    assert explain("config.json", "--on", "ops.txt", "--fail-empty").returncode == 0
    assert explain("config.json", "--ops", "ops.txt", "--fail-empty").returncode == 0
    assert explain("config.json", "--on", "ops.txt", "--why", "2_2", "--fail-empty", check=False).returncode == 4
    (folder / "config.json").write_text('{"dump_enable": true, "op_name": "nothing"}')
    for words in (["--on", "ops.txt"], ["--ops", "ops.txt"], ["--on", "ops.txt", "--json"]):
        assert explain("config.json", *words, check=False).returncode == 0
        assert explain("config.json", *words, "--fail-empty", check=False).returncode == 4
    page = explain("config.json", "--on", "ops.txt", "--html", "page.html", "--fail-empty", check=False)
    assert (page.returncode, (folder / "page.html").exists()) == (4, True)


@pytest.mark.parametrize("word", ["2_1", "0_7/0/2_Decoder_layer/1_Attention", "2_Decoder_layer/1_Attention"])
def test_why_term_by_term(folder: Path, word: str) -> None:
    said = lines_of("--on", "ops.txt", "--why", word)
    device, name = (column_of(folder, value) for value in ('0"}', 'attention", "save'))
    assert said[:6] == [
        "0_7/2_Decoder_layer/1_Attention: selected",
        "  rule attention selects it (rounds 0, 10, 20)",
        f'    device "0"           matches  (config.json:1:{device})',
        f'    op_name "attention"  matches  (config.json:1:{name})',
        "  rule 2 selects it (rounds 0, 10, 20)",
        '    device "every device"  matches',
    ]


def test_why_not_and_what_would_have_to_change(folder: Path) -> None:
    found = data_of("--on", "ops.txt", "--why", "mlp")
    one, other = found["answers"]
    assert (one["selected"], one["alike"], other["alike"]) == (False, LAYERS - 1, LAYERS - 1)
    [device, name] = one["rules"][0]["terms"]
    assert (device["matched"], name["matched"], name["excludes"]) == (True, False, False)
    assert (name["line"], name["column"], name["length"]) == (1, column_of(folder, 'attention", "save'), 9)
    assert [change["field"] for change in other["rules"][0]["changes"]] == ["device", "ids"]
    assert one["rules"][1]["changes"] == [{"field": "ids", "value": "2_1,1_2", "text": 'make "ids" "2_1,1_2"'}]


def test_an_operation_that_is_not_known_is_decided_all_the_same(folder: Path) -> None:
    done = explain("config.json", "--on", "ops.txt", "--why", "0_9/0/7_New/1_AttentionX")
    assert "is not among the known operations" in done.stderr
    assert done.stdout.startswith("0_9/7_New/1_AttentionX: selected\n")
    assert explain("config.json", "--why", "0_9/0/7_New/1_AttentionX").stdout == done.stdout
    nobody = explain("config.json", "--on", "ops.txt", "--why", "nobody", check=False)
    assert (nobody.returncode, nobody.stdout) == (1, "")


def test_what_another_config_gains_and_loses(folder: Path) -> None:
    other = {**CONFIG, "rules": [{"ids": "1-3_1", "device": "0"}, {"op_name": "word", "exec_range": "5"}]}
    (folder / "other.json").write_text(json.dumps(other))
    found = data_of("--on", "ops.txt", "--diff", "other.json")
    assert found["selected"] == [LAYERS * 3 + 1, 5]
    assert [op["path"] for op in found["gained"]] == ["0_WordEmbedding"] * 2
    assert len(found["lost"]) == LAYERS * 3 + 1 - 3
    assert [(op["process"], op["id_path"]) for op in found["changed"]] == [("0_7", "2_1")]
    said = lines_of("--on", "ops.txt", "--diff", "other.json")
    assert said[0] == (
        f"config.json -> other.json: of {2 * (1 + LAYERS * 7)} operations 2 gained, {LAYERS * 3 - 2} lost, 1 changed"
    )
    assert "+ 0_7/0_WordEmbedding  (not selected -> in: tensor; out: tensor; round 5)" in said
    assert f"  {LAYERS - 4} more Decoder_layer alike, up to {LAYERS}_Decoder_layer" in said
    whole = lines_of("--on", "ops.txt", "--diff", "other.json", "--all")
    assert [line[0] for line in whole[1:]].count("-") == LAYERS * 3 - 2


def test_hostile_names_do_not_reach_the_terminal(folder: Path) -> None:
    (folder / "ops.txt").write_bytes(b"0_7/0/1_\x1b[2J\xff\xe2\x80\xae/0_Attention\n")
    for words in (["--on", "ops.txt"], ["--on", "ops.txt", "--why", "attention"], ["--ops", "ops.txt"]):
        said = explain("config.json", *words).stdout
        assert said.isprintable() or all(line.isprintable() for line in said.splitlines())
        assert "\\x1b[2J" in said
    assert data_of("--on", "ops.txt")["ops"][0]["path"] == "1_\x1b[2J\udcff\u202e"


def test_without_a_source_it_is_what_was_written_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = explain("config.json", "--on", check=False)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "name a source with --on" in missing.stderr
    graph = folder / "out" / "atb_dump_data" / "info" / "layer" / "0_7" / "Attention_2.json"
    graph.parent.mkdir(parents=True)
    graph.write_text('{"opName": "Attention_2", "opType": "Attention"}')
    monkeypatch.setenv("ATB_OUTPUT_DIR", str(folder / "out"))
    assert data_of("--on")["operations"] == 1
    assert data_of("--why", "attention")["answers"][0]["selected"]


@pytest.mark.parametrize(
    "words",
    [
        ["--on", "ops.txt", "--ops", "ops.txt"],
        ["--on", "ops.txt", "--program"],
        ["--why", "2_1", "--diff", "config.json"],
        ["--html", "p.html", "--why", "2_1"],
        ["--program", "--fail-empty"],
        ["--on", "ops.txt", "--rounds", "0"],
        ["--why", "2_1"],
    ],
    ids=" ".join,
)
def test_one_answer_at_a_time(folder: Path, words: list[str]) -> None:
    done = explain("config.json", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_damaged_source_is_said(folder: Path) -> None:
    (folder / "graph.json").write_text('{"opName": ')
    done = explain("config.json", "--on", "graph.json", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "graph.json: this is no graph" in done.stderr
    assert explain("config.json", "--on", "nowhere", check=False).returncode == 1
