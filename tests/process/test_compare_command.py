"""`compare` as it is used: dumps of a real model, exit codes, what it says, and what it makes of damage."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dumped_model import SMALL, DumpedModel, Rules
from probed_host import NativeFile, command

MODEL = [*SMALL, "--steps", "3"]
FAULTY = "1_Prefill_layer/1_Attention/1_LinearOperation"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, native_file: NativeFile) -> DumpedModel:
    return DumpedModel(tmp_path_factory.mktemp("model"), native_file, list(MODEL))


@pytest.fixture(scope="module")
def golden(model: DumpedModel) -> Path:
    return model.dump()


@pytest.fixture(scope="module")
def faulty(model: DumpedModel) -> Path:
    return model.dump("--fault", f"{FAULTY}:scale=2")


@pytest.fixture
def other(golden: Path, tmp_path: Path) -> Path:
    """A copy of golden, to be damaged."""
    return Path(shutil.copytree(golden, tmp_path / "other"))


def compare(golden: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return command("compare", str(golden), str(target), *options, check=False)


def answer(golden: Path, target: Path, *options: str) -> tuple[int, dict[str, Any]]:
    done = compare(golden, target, "--json", *options)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def the_round(dump: Path, number: int = 0) -> Path:
    [process] = (dump / "data").iterdir()
    return process / str(number)


def tensors(dump: Path) -> list[Path]:
    return sorted(dump.rglob("*.bin"))


def test_a_dump_is_equal_to_itself_and_to_another_run(golden: Path, model: DumpedModel) -> None:
    for target in (golden, model.dump()):
        done = compare(golden, target)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{len(tensors(golden))} tensors compared: {len(tensors(golden))} equal" in done.stdout
        assert "no operation differs" in done.stdout


def test_the_summary_names_the_operation_and_what_feeds_it(golden: Path, faulty: Path) -> None:
    done = compare(golden, faulty)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert f"first operation that differs: {FAULTY}" in lines
    assert "the difference arises here" in done.stdout
    assert "output 0_output of 1_Prefill_layer/0_RmsNormOperation" in done.stdout
    assert "distance 1 above 0.005" in done.stdout


@pytest.mark.parametrize("part", ["folder above", "data", "device", "round"])
def test_any_part_of_a_dump(golden: Path, faulty: Path, part: str) -> None:
    parts = {
        "folder above": lambda dump: dump.parent,
        "data": lambda dump: dump / "data",
        "device": lambda dump: the_round(dump).parent,
        "round": the_round,
    }
    code, found = answer(parts[part](golden), parts[part](faulty))
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)


def test_the_json_has_everything(golden: Path, faulty: Path) -> None:
    code, found = answer(golden, faulty)
    assert (code, found["differs"], found["incomplete"]) == (1, True, False)
    assert len(found["tensors"]) == len(tensors(golden)) == sum(found["counts"].values())
    first = found["first_operation_that_differs"]
    assert (first["op"], first["ids"], first["round"]) == (FAULTY, "1_1_1", "0")
    assert (first["judged_by"], first["inputs"], first["arises_here"]) == ("outputs", "same", True)
    assert first["fed_by"][0]["op"] == "1_Prefill_layer/0_RmsNormOperation"
    assert [place["op"] for place in found["arises_in"]] == [FAULTY]
    [output] = [tensor for tensor in found["tensors"] if tensor["golden"]["name"] == f"{FAULTY}/output.0_output"][:1]
    assert output["verdict"] == "differs"
    assert output["metrics"]["cosine"] == pytest.approx(1.0)
    assert output["metrics"]["relative_distance"] == pytest.approx(1.0)
    assert output["golden"]["dtype"] == "float16"


def test_the_table_has_the_columns_and_numbers(golden: Path, faulty: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "for it"
    assert compare(golden, faulty, "-o", str(folder)).returncode == 1
    with (folder / "compare_result.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(tensors(golden))
    [row] = [row for row in rows if row["Golden Data Name"] == f"{FAULTY}/output.0_output"][:1]
    assert row["Target Data Name"] == row["Golden Data Name"]
    assert (row["Golden Data Type"], row["Golden Data Shape"], row["Target Execution Count"]) == (
        "float16",
        "4x16",
        "0",
    )
    assert float(row["Target Norm"]) == pytest.approx(2 * float(row["Golden Norm"]))
    assert float(row["Euc Distance"]) == pytest.approx(float(row["Golden Norm"]))
    assert (row["One Thousandth Err Ratio"], row["Verdict"]) == ("0.0", "differs")


def test_thresholds_are_settable(golden: Path, faulty: Path) -> None:
    wide = [f"--threshold={measure}=off" for measure in ("distance", "peak")]
    code, found = answer(golden, faulty, *wide)
    # What is a fault of a factor of two in one place turns the directions of what comes after it.
    assert (code, found["first_operation_that_differs"]) == (0, None)
    code, found = answer(golden, faulty, *wide, "--threshold=float16:absolute=1e-9")
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)


def test_statistics_against_data(golden: Path, faulty: Path, model: DumpedModel) -> None:
    """One side has statistics only, the other only data."""
    statistics = model.dump(rules={"task": "statistics"})
    data = model.dump("--fault", f"{FAULTY}:scale=2", rules={"task": "tensor"})
    code, found = answer(statistics, data)
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)
    assert answer(statistics, golden)[0] == 0
    clean = model.dump(rules={"task": "tensor"})
    code, found = answer(clean, statistics)
    assert (code, found["counts"]["equal"]) == (0, len(tensors(clean)))


def test_statistics_have_the_columns_of_their_kind(model: DumpedModel, tmp_path: Path) -> None:
    rules: Rules = {"task": "statistics"}
    target = model.dump("--fault", f"{FAULTY}:scale=2", rules=rules)
    compare(model.dump(rules=rules), target, "-o", str(tmp_path))
    with (tmp_path / "compare_result.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    [row] = [row for row in rows if row["Golden Data Name"] == f"{FAULTY}/output.0_output"][:1]
    assert "Cosine" not in row
    assert float(row["Norm Diff"]) == pytest.approx(float(row["Golden Norm"]))
    assert float(row["Relative Err of Norm(%)"]) == pytest.approx(100)


def test_references_are_followed(golden: Path, model: DumpedModel) -> None:
    target = model.dump("--fault", f"{FAULTY}:scale=2", rules={"filter_level": 3})
    assert any(b"\ndata=" in path.read_bytes()[:300] for path in tensors(target))
    code, found = answer(golden, target)
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)


def test_names_of_another_release_do_not_count(golden: Path, model: DumpedModel) -> None:
    """intensor0.bin is intensor0_x.bin, and a plug-in is the operation in whose place it stands."""
    plain = model.dump("--plain-names", "--fault", f"{FAULTY}:scale=2")
    assert {path.name for path in tensors(golden)} != {path.name for path in tensors(plain)}
    code, found = answer(golden, plain)
    assert (code, found["only_golden"], found["only_target"]) == (1, [], [])
    assert found["first_operation_that_differs"]["op"] == FAULTY
    plugins = model.dump("--plugin-operations")
    code, found = answer(golden, plugins)
    assert (code, found["differs"], found["only_target"]) == (3, False, [])
    assert all("Kernel" in place["name"] for place in found["only_golden"])


def test_what_is_on_one_side_only_is_listed(golden: Path, other: Path) -> None:
    shutil.rmtree(the_round(other) / "1_Prefill_layer/1_Attention")
    rows = the_round(other) / "statistic.csv"
    kept = [line for line in rows.read_text(encoding="utf-8").splitlines() if "Prefill_layer/Attention" not in line]
    rows.write_text("\n".join(kept) + "\n", encoding="utf-8")
    done = compare(golden, other)
    assert done.returncode == 3
    lacking = [path for path in tensors(golden) if "/0/1_Prefill_layer/1_Attention/" in str(path)]
    assert f"only in golden: {len(lacking)} tensors" in done.stdout
    assert "/0/1_Prefill_layer/1_Attention/0_LinearOperation/input.0_input" in done.stdout
    assert f"{len(lacking)} only in golden" in done.stdout
    code, found = answer(other, golden)
    assert (code, len(found["only_target"]), found["only_golden"]) == (3, len(lacking), [])


def test_nothing_in_common(golden: Path, model: DumpedModel) -> None:
    inputs, outputs = (model.dump(rules={"io": io}) for io in ("in", "out"))
    done = compare(inputs, outputs)
    assert done.returncode == 3
    assert "nothing could be compared: no tensor is in both" in done.stdout
    assert f"{len(tensors(inputs))} only in golden, {len(tensors(outputs))} only in target" in done.stdout


def test_a_difference_wins_over_what_is_missing(golden: Path, faulty: Path, tmp_path: Path) -> None:
    target = Path(shutil.copytree(faulty, tmp_path / "target"))
    shutil.rmtree(the_round(target, 1))
    code, found = answer(golden, target)
    assert (code, found["incomplete"], found["first_operation_that_differs"]["op"]) == (1, True, FAULTY)
    assert {place["round"] for place in found["only_golden"]} == {"1"}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-1], "the file ends after"),
        (lambda data: data + data, "bytes follow the data"),
        (lambda data: data.replace(b"format=", b"colour=", 1), "unknown attribute"),
        (lambda data: b"PK\x03\x04" + data, "no tensor file"),
        (lambda data: b"", "the file is empty"),
    ],
    ids=["a byte short", "two records", "an unknown attribute", "no tensor file", "empty"],
)
def test_a_damaged_file_is_told_and_never_compared(golden: Path, other: Path, damage: Any, reason: str) -> None:
    [victim] = other.rglob("1_Prefill_layer/1_Attention/0_LinearOperation/after/*.bin")
    victim.write_bytes(damage(victim.read_bytes()))
    done = compare(golden, other)
    assert done.returncode == 3
    assert "could not be compared: 1 tensor" in done.stdout
    assert str(victim) in done.stdout
    assert reason in done.stdout
    assert "no operation differs" in done.stdout


def test_a_file_that_is_gone_is_told(golden: Path, other: Path) -> None:
    [victim] = other.rglob("1_Prefill_layer/1_Attention/0_LinearOperation/after/*.bin")
    victim.unlink()
    code, found = answer(golden, other)
    assert code == 3
    [unread] = [tensor for tensor in found["tensors"] if tensor["verdict"] == "unreadable"]
    assert "is not there" in unread["reasons"][0]


def test_without_statistic_csv_the_order_is_that_of_ids(golden: Path, faulty: Path, tmp_path: Path) -> None:
    bare = [Path(shutil.copytree(dump, tmp_path / str(place))) for place, dump in enumerate((golden, faulty))]
    for dump in bare:
        for table in dump.rglob("statistic.csv"):
            table.unlink()
    code, found = answer(*bare)
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)


def test_a_map_says_where_layers_are_shifted(golden: Path, faulty: Path, tmp_path: Path) -> None:
    shifted = Path(shutil.copytree(faulty, tmp_path / "shifted"))
    for table in shifted.rglob("statistic.csv"):
        table.unlink()
    the_round(shifted).rename(the_round(shifted, 7))
    (the_round(shifted, 7) / "1_Prefill_layer").rename(the_round(shifted, 7) / "31_Prefill_layer")
    numbers = tmp_path / "map.json"
    numbers.write_text('{"ops": {"1": "31"}, "rounds": {"0": "7"}}', encoding="utf-8")
    code, found = answer(golden, shifted, "--map", str(numbers))
    assert (code, found["first_operation_that_differs"]["op"]) == (1, FAULTY)
    assert found["only_golden"] == found["only_target"] == []
    _, found = answer(golden, shifted)
    assert {place["round"] for place in found["only_golden"]} == {"0"}


def test_devices_are_matched_by_their_numbers(model: DumpedModel) -> None:
    def two_devices(*options: str) -> Path:
        return model.dump("--device", "0,1", "--threads", "2", "--steps-in-turn", "2", *options)

    golden, target = two_devices(), two_devices("--fault", "LmHead:nan")
    code, found = answer(golden, target)
    first = found["first_operation_that_differs"]
    assert (code, first["op"].partition("_")[2], first["process"].partition("_")[0]) == (1, "LmHead", "0")
    assert {tensor["golden"]["process"].partition("_")[0] for tensor in found["tensors"]} == {"0", "1"}
    [second] = [folder for folder in (target / "data").iterdir() if folder.name.startswith("1_")]
    of_second = [path for path in tensors(golden) if "/data/1_" in str(path)]
    shutil.rmtree(second)
    assert len(answer(golden, target)[1]["only_golden"]) == len(of_second) > 0


@pytest.mark.parametrize("options", [["--threshold", "far=1"], ["--map", "{}"], ["--jobs", "0"], ["--no"]])
def test_wrong_usage(golden: Path, options: list[str]) -> None:
    assert compare(golden, golden, *options).returncode == 2


def test_what_is_no_dump_is_wrong_usage(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for folder in (tmp_path, tmp_path / "none"):
        done = compare(golden, folder)
        assert (done.returncode, done.stdout) == (2, "")
    done = compare(the_round(golden), golden)
    assert (done.returncode, done.stdout) == (2, "")
    assert "one of the two is a single round" in done.stderr


def test_threads_say_the_same(golden: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from atbprobe_rules.compare import workers
    from atbprobe_rules.compare.comparison import compare_dumps
    from atbprobe_rules.compare.description import describe
    from atbprobe_rules.dump.open_dump import open_dump

    monkeypatch.setattr(workers, "BATCH_PAIRS", 5)
    seen: list[tuple[int, int]] = []
    alone = compare_dumps(open_dump(golden), open_dump(faulty))
    together = compare_dumps(
        open_dump(golden), open_dump(faulty), workers=2, progress=lambda done, total: seen.append((done, total))
    )
    assert describe(together) == describe(alone)
    assert seen[-1] == (len(tensors(golden)), len(tensors(golden)))
