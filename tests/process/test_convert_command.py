"""`atbprobe-rules convert`: answers, exit codes, progress on a terminal, and going on after a kill."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import atbprobe_rules
from atbprobe_rules.cli import main
from atbprobe_rules.inotify import MOVED_TO, Inotify
from dump_files import bin_file, put

COMMAND = [sys.executable, "-m", "atbprobe_rules", "convert"]


def convert(*words: object, code: int = 0) -> tuple[str, str]:
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("wanted", ["npy", "npz", "safetensors"])
def test_a_real_dump(real_dump: Path, tmp_path: Path, wanted: str) -> None:
    tensors = list(atbprobe_rules.open_dump(real_dump).tensors)
    said, errors = convert(real_dump, "--to", wanted, tmp_path / "out", "--json")
    answer = json.loads(said)
    assert errors == ""
    assert (answer["tensors"], answer["problems"], answer["to"]) == (len(tensors), [], wanted)
    assert {"dtype": "bf16", "as": "bfloat16" if wanted == "safetensors" else "float32"}.items() <= next(
        entry for entry in answer["types"] if entry["dtype"] == "bf16"
    ).items()
    for tensor in tensors:
        one = tensor.op.round.path
        place = f"{one.parent.name}/{one.name}"
        name = tensor.full_name.removesuffix(".bin")
        if wanted == "npy":
            array = np.load(tmp_path / f"out/{place}/{name}.npy")
        elif wanted == "npz":
            with np.load(tmp_path / f"out/{place}.npz") as archive:
                array = archive[name]
        else:
            with safetensors.safe_open(tmp_path / f"out/{place}.safetensors", "np") as file:
                array = file.get_tensor(name)
        expected = tensor.load().array
        np.testing.assert_array_equal(array.astype(np.float64), expected.astype(np.float64), strict=True)


def test_what_it_says(real_dump: Path, tmp_path: Path) -> None:
    said, errors = convert(real_dump, "--to", "npy", tmp_path / "out")
    first, *types = said.splitlines()
    assert first.endswith(" tensors")
    assert [line.partition(":")[0] for line in types] == ["bf16 as float32"]
    said, errors = convert(real_dump, "--to", "npy", tmp_path / "out")
    assert said.startswith("0 files written, 0 tensors; ")
    assert said.endswith("left alone, made from the same tensors already\n")
    assert errors == ""


def test_exit_codes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = put(tmp_path / "dump/data/0_1/0/0_A/before/intensor0.bin", bin_file(b"\0" * 4, 0, "1"))
    bad = put(tmp_path / "dump/data/0_1/0/0_A/before/intensor1.bin", bin_file(b"\0" * 4, 0, "1")[:-1])
    out = str(tmp_path / "out")
    assert main.run(["convert", str(tmp_path / "dump"), "--to", "npy", out]) == 3
    answer = capfd.readouterr()
    assert (
        answer.err == f"atbprobe-rules: {bad}, offset {bad.stat().st_size}: the file ends after 3 of 4 bytes of data\n"
    )
    assert answer.out == "1 file written, 1 tensor\n"
    assert main.run(["convert", str(bad), "--to", "npy", out]) == 1
    assert "nothing was converted" in capfd.readouterr().err
    assert main.run(["convert", str(tmp_path / "nothing"), "--to", "npy", out]) == 1
    assert "No such file" in capfd.readouterr().err
    for words in ([str(good), out], [out, "--to", "npy"], [str(good), "--to", "hdf5", out]):
        assert main.run(["convert", *words]) == 2
    two = [str(good), str(tmp_path / "dump"), "--to", "npy", str(tmp_path / "x.npy")]
    assert main.run(["convert", *two]) == 2
    assert "name a folder" in capfd.readouterr().err


def test_progress_is_for_terminals_and_not_on_stdout(real_dump: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, real_dump, "--to", "npz", tmp_path / "out"],
            stdout=subprocess.PIPE,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(controller, 4096):
                shown += part
        except OSError:
            pass  # the terminal's last user has gone
        said, _ = process.communicate()
    finally:
        os.close(controller)
    assert process.returncode == 0
    assert b"tensors" in shown
    assert said.startswith(b"2 files written")
    assert b"\x1b" not in said


def test_it_goes_on_after_a_kill(tmp_path: Path) -> None:
    """Killed once some files are there; then the rest is made, and what was there is left alone."""
    count = 3000
    for number in range(count):
        put(tmp_path / f"data/0_1/0/{number}_A/before/intensor0.bin", bin_file(np.float32(number).tobytes()))
    out = tmp_path / "out"
    last = out / f"0_1/0/{count // 10}_A/before/intensor0.npy"
    last.parent.mkdir(parents=True)
    with (
        closing(Inotify()) as events,
        subprocess.Popen([*COMMAND, tmp_path, "--to", "npy", out], stdout=subprocess.DEVNULL) as process,
    ):
        events.add(last.parent, MOVED_TO)
        select.select([events], [], [], 60)
        process.kill()
    made = [path for path in out.rglob("*.npy") if path.is_file()]
    assert last in made
    answer = json.loads(convert(tmp_path, "--to", "npy", out, "--json")[0])
    assert answer["files_skipped"] == len(made)
    assert answer["files_skipped"] + answer["files_written"] == count
    assert [float(np.load(out / f"0_1/0/{number}_A/before/intensor0.npy")) for number in range(0, count, 100)] == [
        float(number) for number in range(0, count, 100)
    ]
    assert not list(out.rglob("*.atbprobe-convert"))
