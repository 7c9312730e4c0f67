"""`atbprobe-rules check`: answers on stdout, diagnostics on stderr, and the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GOOD = '{"dump_enable": true, "ids": "2_1"}'
WARNED = '{"dump_enable": true, "ids": "2_1,2_1"}'
BAD = '{"dump_enable": "true", "ids": 2}'


def check(*words: object, given: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "check", *map(str, words)],
        input=given,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def codes(answer: dict[str, Any], key: str = "diagnostics") -> list[str]:
    return [diagnostic["code"] for diagnostic in answer[key]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"good": GOOD, "warned": WARNED, "bad": BAD}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        path.chmod(0o600)
    return tmp_path


def test_a_line_for_each_file(folder: Path) -> None:
    paths = [folder / f"{name}.json" for name in ("good", "warned", "bad")]
    done = check(*paths)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{paths[0]}: fine",
        f"{paths[1]}: fine, 1 warning",
        f"{paths[2]}: refused, 2 errors",
    ]
    assert f"{paths[1]}:1:35: warning[duplicate-term]" in done.stderr
    assert f"{paths[2]}:1:17: error[wrong-type]" in done.stderr
    assert check(*paths[:2]).returncode == 0


def test_an_object_for_each_file_and_nothing_else(folder: Path) -> None:
    done = check("--json", folder / "bad.json", folder / "good.json")
    assert (done.returncode, done.stderr) == (1, "")
    bad, good = objects(done)
    assert good == {"file": str(folder / "good.json"), "ok": True, "diagnostics": []}
    assert bad["ok"] is False
    assert bad["diagnostics"][1] == {
        "code": "wrong-type",
        "severity": "error",
        "line": 1,
        "column": 32,
        "length": 1,
        "message": '"ids" must be a string, not a number',
        "hint": 'write "2"',
        "related": [],
    }


def test_strict_refuses_warnings(folder: Path) -> None:
    done = check("--strict", folder / "warned.json", folder / "good.json")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{folder / 'warned.json'}: refused, 1 warning",
        f"{folder / 'good.json'}: fine",
    ]
    [warned] = objects(check("--strict", "--json", folder / "warned.json"))
    assert (warned["ok"], codes(warned)) == (False, ["duplicate-term"])


def test_what_cannot_be_read_is_an_answer_too(folder: Path) -> None:
    done = check("--json", folder / "none.json", folder, folder / "good.json")
    assert done.returncode == 1
    missing, irregular, good = objects(done)
    assert (missing["ok"], codes(missing)) == (False, ["no-file"])
    assert (irregular["ok"], codes(irregular)) == (False, ["unreadable-file"])
    assert good["ok"]
    done = check(folder / "none.json")
    assert (done.returncode, done.stdout) == (1, f"{folder / 'none.json'}: refused, 1 error\n")
    assert "no such file" in done.stderr


def test_a_file_that_a_watcher_would_not_take_is_warned_of(folder: Path) -> None:
    (folder / "good.json").chmod(0o664)
    (folder / "bad.json").chmod(0o606)
    good, bad = objects(check("--json", folder / "good.json", folder / "bad.json"))
    assert (good["ok"], codes(good)) == (True, ["untrusted-file"])
    assert "0664" in good["diagnostics"][0]["message"]
    assert codes(bad) == ["untrusted-file", "wrong-type", "wrong-type"]
    assert check("--strict", folder / "good.json").returncode == 1


def test_standard_input(folder: Path) -> None:
    done = check("-", folder / "good.json", given=WARNED.encode())
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["<stdin>: fine, 1 warning", f"{folder / 'good.json'}: fine"]
    assert check("-", given=b"").returncode == 1
    assert codes(objects(check("--json", "-", given=b"\xff"))[0]) == ["not-utf8"]
    assert check("-", "-", given=GOOD.encode()).returncode == 2


def test_a_config_beyond_the_limits_of_a_program_is_refused(folder: Path) -> None:
    parts = ",".join(f"{'a/' * 80}b{number}" for number in range(60))
    (folder / "good.json").write_text(json.dumps({"op_name": parts}))
    [answer] = objects(check("--json", folder / "good.json"))
    assert (answer["ok"], codes(answer)) == (False, ["too-complex"])


def test_without_a_config_it_is_that_of_the_other_commands(folder: Path, tmp_path: Path) -> None:
    done = check(ATB_DUMP_CONFIG=str(folder / "bad.json"))
    assert (done.returncode, done.stdout) == (1, f"{folder / 'bad.json'}: refused, 2 errors\n")
    done = check(ATB_DUMP_CONFIG="", ATBPROBE_RUNTIME_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "say which with CONFIG" in done.stderr


def test_what_the_published_probe_makes_of_it(folder: Path) -> None:
    (folder / "warned.json").write_text('{"dump_enable": true, "ids": "0, 2_1"}')
    done = check("--compat", folder / "good.json", folder / "warned.json")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{folder / 'good.json'}: fine"
    assert lines[1].endswith("note[compat-same]: the published probe selects the same")
    assert f'{folder / "warned.json"}:1:33: note[compat-nothing]: the published probe reads "2_1"' in done.stdout
    good, warned = objects(check("--compat", "--json", folder / "good.json", folder / "warned.json"))
    assert (codes(good, "compat"), codes(warned, "compat")) == (["compat-same"], ["compat-nothing"])
    assert warned["compat"][0]["severity"] == "note"
    assert (good["compat_config"]["ids"], warned["compat_config"]["ids"]) == ("2_1", "0")


def test_files_that_the_published_probe_does_not_read(folder: Path) -> None:
    link = folder / "link.json"
    link.symlink_to(folder / "good.json")
    (folder / "warned.json").chmod(0o620)
    answers = objects(check("--compat", "--json", link, folder / "warned.json", folder / "none.json", folder))
    assert [codes(answer, "compat")[0] for answer in answers] == [
        "compat-unreadable",
        "compat-unreadable",
        "compat-unreadable",
        "compat-not-told",
    ]
    assert {answer["compat_config"] for answer in answers} == {None}
