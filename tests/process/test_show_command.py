"""`atbprobe-rules show`: tensors, rows, rounds and whole dumps, for people and as JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atbprobe_rules import open_dump
from atbprobe_rules.cli import main
from dump_files import ANOMALY_HEADER, STATISTIC_HEADER, bin_file, put, reference_file


def show(*words: object, code: int = 0, **environment: str) -> str:
    """Standard output of a run with this exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "show", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def as_json(path: Path, code: int = 0) -> Any:
    return json.loads(show(path, "--json", code=code))


def test_a_tensor(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 12)
    values[1, 3] = np.nan
    values[1, 4] = -np.inf
    path = put(tmp_path / "intensor0.bin", bin_file(values.tobytes(), 0, "2,12", 29))
    said = show(path, PYTHONIOENCODING="utf-8").splitlines()
    assert said[0] == str(path)
    assert said[1:8] == [
        "tensor      float, 2x12, fractal_nz, 96 bytes",
        "statistics  max nan  min nan  mean nan  norm nan",
        f"finite      max 23  min 0  mean {245 / 22:.9g}  norm {math.sqrt(3843):.9g}",
        "not finite  1 NaN, 1 -inf of 24 elements",
        "            [1, 3] nan",
        "            [1, 4] -inf",
        "first       0, 1, 2, 3, 4",
    ]
    assert said[8] == "last        19, 20, 21, 22, 23"
    bars = said[10:]
    assert len(bars) == 20
    assert sum(int(line.split()[3]) for line in bars) == 22
    assert max(line.count("█") for line in bars) == 40


def test_a_terminal_of_ascii_alone(tmp_path: Path) -> None:
    path = put(tmp_path / "intensor0.bin", bin_file(np.arange(9, dtype=np.float32).tobytes(), 0, "9"))
    said = show(path, PYTHONIOENCODING="ascii")
    assert "#" in said
    assert said.isascii()


def test_a_tensor_as_json(tmp_path: Path) -> None:
    values = np.array([1 + 2j, complex(np.nan, 1), -3], np.complex64)
    path = put(tmp_path / "intensor0.bin", bin_file(values.tobytes(), 16, "3"))
    said = as_json(path)
    assert (said["kind"], said["file"], said["data_file"]) == ("tensor", str(path), str(path))
    assert (said["dtype"], said["format"], said["shape"], said["bytes"]) == ("complex64", "nd", [3], 24)
    summary = said["summary"]
    assert summary["statistics"]["max"] == "nan"
    assert summary["finite"]["max"] == [-3, 0]
    assert summary["not_finite_at"] == [{"position": 1, "index": [1], "value": ["nan", 1]}]
    assert summary["nan"] == 1
    assert sum(summary["histogram"]["counts"]) == 2


@pytest.mark.parametrize("dims", ["", "0,4"])
def test_scalars_and_empty_tensors(tmp_path: Path, dims: str) -> None:
    data = b"" if dims else np.float32(2.5).tobytes()
    said = show(put(tmp_path / "intensor0.bin", bin_file(data, 0, dims)))
    assert ("float, scalar, nd" in said, "none: there is no such value" in said) == (not dims, bool(dims))


def test_what_cannot_be_decoded_is_still_shown(tmp_path: Path) -> None:
    path = put(tmp_path / "intensor0.bin", bin_file(b"abc", 13, "3"))
    assert "elements    of type string cannot be read" in show(path)
    assert as_json(path)["summary"] is None


def test_a_reference(tmp_path: Path) -> None:
    home = put(tmp_path / "golden/2_A/after/outtensor0.bin", bin_file(np.float32(7).tobytes()))
    path = put(tmp_path / "golden/3_B/before/intensor0.bin", reference_file("2_outtensor0.bin"))
    assert f"data in     {home}" in show(path)
    assert as_json(path)["data_file"] == str(home)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"hello", "offset 0: this is no tensor file"), (bin_file(b"\0" * 4)[:-1], "ends after 3 of 4")],
)
def test_a_damaged_tensor(tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, said: str) -> None:
    path = put(tmp_path / "x.bin", content)
    assert main.run(["show", str(path)]) == 1
    answer = capfd.readouterr()
    assert answer.out == ""
    assert answer.err.startswith(f"atbprobe-rules: {path}, offset ")
    assert said in answer.err


def test_what_is_not_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.run(["show", str(tmp_path / "nothing.bin")]) == 1
    assert "No such file" in capfd.readouterr().err
    assert main.run(["show", str(tmp_path)]) == 1
    assert "this is no dump" in capfd.readouterr().err


def test_names_are_text_for_the_terminal(tmp_path: Path) -> None:
    put(tmp_path / "0_1/0/0_\x1b[2J[red]x/before/intensor0.bin", bin_file(np.float32(1).tobytes()))
    said = show(tmp_path)
    assert "\x1b" not in said
    assert "[red]x" in said
    row = "0_1,0,\x1b[2J,[bold],0,input,0,float,nd,1,1,1,1,1,N/A\n"
    said = show(put(tmp_path / "statistic.csv", STATISTIC_HEADER + row))
    assert "\x1b" not in said


# ---- rows ----


def test_rows_of_statistics(real_dump: Path) -> None:
    (path, _) = sorted(real_dump.rglob("statistic.csv"))
    lines = path.read_text().splitlines()
    said = as_json(path)
    assert (said["kind"], said["file"], said["problems"]) == ("statistic", str(path), [])
    assert len(said["rows"]) == len(lines) - 1
    first = said["rows"][0]
    assert (first["op"], first["ids"], first["io"], first["index"]) == ("WordEmbedding", "0", "input", "0")
    assert isinstance(first["max"], float)
    assert "--all shows them" in show(path)
    assert "--all shows them" not in show(path, "--all")
    assert len(show(path, "--all").splitlines()) > len(lines)


def test_a_row_that_is_none_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "statistic.csv", STATISTIC_HEADER + "a,b\n")
    assert main.run(["show", str(path)]) == 3
    assert f"{path}: line 2: 2 columns, not 15" in capfd.readouterr().err
    assert as_json(path, code=3)["problems"] == [f"{path}: line 2: 2 columns, not 15"]
    assert main.run(["show", str(put(tmp_path / "other.csv", "x"))]) == 1


def test_rows_of_anomalies(real_dump: Path) -> None:
    (path,) = real_dump.rglob("anomaly.csv")
    rows = as_json(path)["rows"]
    assert rows
    assert all(row["nan"] > 0 for row in rows)
    assert "LmHead" in show(path)
    path_of_none = put(path.parent.parent / "anomaly.csv", ANOMALY_HEADER)
    assert as_json(path_of_none)["rows"] == []
    path_of_none.unlink()


# ---- rounds and dumps ----


def test_a_round(real_dump: Path) -> None:
    (one, other) = open_dump(real_dump).rounds
    said = as_json(one.path)
    files = [path for path in one.path.rglob("*.bin") if path.is_file()]
    assert (said["kind"], said["round"], said["device"]) == ("round", one.number, one.device.number)
    assert said["stored"] == said["tensors"] == len(files)
    assert said["bytes"] == sum(path.stat().st_size for path in files)
    assert (said["missing"], said["anomalous"], said["problems"]) == (0, 0, [])
    assert [op["ids"] for op in said["ops"]] == [op.ids for op in one.ops]
    assert sum(op["bytes"] for op in said["ops"]) == said["bytes"]

    def all_ops(ops: list[dict[str, Any]]) -> list[str]:
        return [ids for op in ops for ids in (op["ids"], *all_ops(op["children"]))]

    assert all_ops(said["ops"]) == [op.ids for op in one.walk()]
    assert as_json(other.path)["anomalous"] > 0
    text = show(other.path)
    assert "not finite, in the order of execution:" in text
    assert "Kernel" in text


def test_a_whole_dump(real_dump: Path) -> None:
    said = as_json(real_dump)
    assert said["kind"] == "dump"
    assert len(said["rounds"]) == 2
    assert said["tensors"] == sum(one["tensors"] for one in said["rounds"])
    assert "ops" not in said["rounds"][0]
    text = show(real_dump.parent)
    assert "2 rounds: " in text
    assert "1_Prefill_layer" in text
    assert "Kernel" not in text
    assert "Kernel" in show(real_dump, "--all")
    assert "LmHead" in text.partition("not finite, in the order of execution:")[2]


def test_many_rounds(tmp_path: Path) -> None:
    for number in range(45):
        put(tmp_path / f"data/0_1/{number}/0_A/before/intensor0.bin", bin_file(np.float32(1).tobytes()))
    text = show(tmp_path)
    assert "and 5 more rounds: --all shows them" in text
    assert "45 rounds: 45 tensors" in text
    assert "round 44" in show(tmp_path, "--all")


def test_missing_tensors_make_a_dump_incomplete(real_dump: Path, tmp_path: Path) -> None:
    (first, _) = open_dump(real_dump).rounds
    copy = tmp_path / "copy"
    shutil.copytree(first.path, copy)
    next(copy.rglob("outtensor0.bin")).unlink()
    assert as_json(copy, code=3)["missing"] == 1
    assert "1 missing" in show(copy, code=3)
