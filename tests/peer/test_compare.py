"""The published comparison takes our dumps, and where it computes a number, ours is the same.

Its relative errors and its statistics are computed in float or in the tensor's own type; they are equal as far as the
digits of that go. Cosines are rounded to six digits there, the others written with twelve behind the point.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dumped_model import SMALL, DumpedModel
from probed_host import NativeFile, command

from benchmarks.published_peer import peer_program

pytestmark = pytest.mark.peer_command_line

Row = dict[str, str]
READ_TABLE = (
    "import json, sys, pandas; table = pandas.read_excel(sys.argv[1], dtype=str, keep_default_na=False);"
    "print(json.dumps([list(table.columns), table.to_dict('records')]))"
)
# Columns, of either side, that hold texts.
EXACT = ("Device and PID", "Execution Count", "Data Type", "Data Shape")
# The digits of a statistic that is computed in the type itself.
EPSILON = {"float16": 2**-10, "bf16": 2**-7}
MODELS = {
    "float16": [*SMALL, "--steps", "2"],
    "bf16 and float": [
        "--layers",
        "2",
        "--steps",
        "1",
        "--bf16-layer",
        "1",
        "--logits",
        "float",
        "--token-ids",
        "int32",
    ],
    "float": [*SMALL, "--steps", "1", "--dtype", "float"],
}
FAULTS = {"float16": "scale=1.003", "bf16 and float": "scale=-1.5", "float": "inf"}
FAULTY = "1_Prefill_layer/1_Attention/1_LinearOperation"


def peer_table(golden: Path, target: Path, folder: Path) -> tuple[list[str], dict[str, Row]]:
    """What the published comparison makes of two rounds: its columns, and its rows by golden's name of the tensor."""
    arguments = ["compare", "-m", "atb", "-gp", str(golden), "-tp", str(target), "-o", str(folder)]
    done = subprocess.run(
        [peer_program("msprobe"), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [table] = folder.glob("*.xlsx")
    read = [peer_program("python"), "-c", READ_TABLE, table]
    columns, rows = json.loads(subprocess.run(read, capture_output=True, text=True, timeout=60, check=True).stdout)
    return columns, {row["Golden Data Name"]: row for row in rows}


def our_table(golden: Path, target: Path, folder: Path) -> tuple[list[str], dict[str, Row]]:
    done = command("compare", str(golden), str(target), "-o", str(folder), check=False)
    assert done.returncode in (0, 1), done.stderr
    with (folder / "compare_result.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = {row["Golden Data Name"]: row for row in reader}
        return list(reader.fieldnames or []), rows


def first_round(dump: Path) -> Path:
    [process] = (dump / "data").iterdir()
    return process / "0"


def number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:  # N/A, unsupported, Nan
        return None
    return value if math.isfinite(value) else None


def tolerance(column: str, row: Row, expected: float) -> float:
    """How far apart two numbers of a column may be on account of how the published one is computed."""
    side = column.partition(" ")[0]
    if column in ("One Thousandth Err Ratio", "Five Thousandth Err Ratio"):  # an element on the edge, in float
        elements = math.prod(int(size) for size in row["Golden Data Shape"].split("x") if size)
        return 1.5 / max(elements, 1) if elements > 1 else 0.0
    if column == "Cosine":
        return 1e-6
    if column == "Max Relative Err":
        return 4e-6 * abs(expected) + 1e-12
    if side in ("Golden", "Target"):
        epsilon = EPSILON.get(row[f"{side} Data Type"], 2e-6)
        norm, shape = number(row[f"{side} Norm"]) or 0.0, row[f"{side} Data Shape"]
        root = math.sqrt(math.prod(int(size) for size in shape.split("x") if size))
        return epsilon * abs(expected) + (2e-6 * norm / root if column.endswith("Mean") else 0.0)
    return 1e-12 + 1e-12 * abs(expected)


def compare_tables(columns: list[str], theirs: dict[str, Row], ours: dict[str, Row]) -> Counter[str]:
    """Check every number that they have; return how many there were in each column."""
    compared: Counter[str] = Counter()
    wrong: list[Any] = []
    for name, row in theirs.items():
        for column in columns:
            expected, found = number(row[column]), number(ours[name][column])
            if column in ("Golden Data Name", "Target Data Name") or column.partition(" ")[2] in EXACT:
                assert ours[name][column] == row[column], (name, column)
            elif expected is not None:
                compared[column] += 1
                if found is None or abs(found - expected) > tolerance(column, ours[name], expected):
                    wrong.append((name, column, expected, ours[name][column]))
    assert wrong == []
    return compared


@pytest.mark.parametrize("kind", MODELS)
def test_numbers_of_data(kind: str, tmp_path: Path, native_file: NativeFile) -> None:
    model = DumpedModel(tmp_path, native_file, MODELS[kind])
    golden, target = (first_round(model.dump(*fault)) for fault in ([], ["--fault", f"{FAULTY}:{FAULTS[kind]}"]))
    columns, theirs = peer_table(golden, target, tmp_path / "theirs")
    our_columns, ours = our_table(golden, target, tmp_path / "ours")
    assert our_columns[: len(columns)] == columns
    assert theirs.keys() == ours.keys()
    assert len(theirs) == len(list(golden.rglob("*.bin")))
    compared = compare_tables(columns, theirs, ours)
    numbers = [column for column in columns if column.partition(" ")[2] not in (*EXACT, "Data Name")]
    assert compared.keys() == set(numbers)
    assert min(compared.values()) > len(theirs) // 2
    differing = [row for row in theirs.values() if number(row["Euc Distance"]) not in (None, 0.0)]
    assert kind == "float" or len(differing) > 5


def test_numbers_of_statistics(tmp_path: Path, native_file: NativeFile) -> None:
    model = DumpedModel(tmp_path, native_file, MODELS["float16"])
    rules = {"task": "statistics"}
    golden = first_round(model.dump(rules=rules))
    target = first_round(model.dump("--fault", f"{FAULTY}:scale=1.5", rules=rules))
    columns, theirs = peer_table(golden, target, tmp_path / "theirs")
    our_columns, ours = our_table(golden, target, tmp_path / "ours")
    assert our_columns[: len(columns)] == columns
    assert theirs.keys() == ours.keys()
    compared = compare_tables(columns, theirs, ours)
    assert compared["Max Diff"] == compared["Norm Diff"] == len(theirs)
    assert compared["Relative Err of Norm(%)"] > len(theirs) // 2
    assert any(number(row["Norm Diff"]) for row in theirs.values())
