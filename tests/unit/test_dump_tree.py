"""The tree of a dump from folders alone: which folder is what, order, references, and what is not taken for a part."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import atbprobe_rules
from atbprobe_rules import Dump, DumpError, open_dump
from atbprobe_rules.dump.tree import Round
from dump_files import STATISTIC_HEADER, bin_file, put, reference_file

FLOAT = np.float32(1).tobytes()
ROUND = "atb_dump_data/data/0_1234/0"


def content(value: float) -> bytes:
    return bin_file(np.float32(value).tobytes(), 0, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two operations, one with a child, in one round."""
    one = tmp_path / ROUND
    put(one / "10_Norm/before/intensor0.bin", content(5))
    put(one / "2_Layer/after/outtensor0.bin", content(4))
    put(one / "2_Layer/1_Attention/after/outtensor0.bin", content(3))
    put(one / "2_Layer/1_Attention/before/intensor10.bin", content(2))
    put(one / "2_Layer/1_Attention/before/intensor2_key.bin", content(1))
    put(one / "2_Layer/before/intensor0.bin", content(0))
    put(one / "2_Layer/1_Attention/op_param.json", '{"headNum": 2}\n')
    return tmp_path


def one_round(folder: Path) -> Round:
    (found,) = open_dump(folder).rounds
    return found


def values(dump: Dump) -> list[float]:
    return [float(np.asarray(tensor.load())) for tensor in dump.tensors]


@pytest.mark.parametrize("part", [".", "atb_dump_data", "atb_dump_data/data", "atb_dump_data/data/0_1234", ROUND])
def test_any_part_of_a_dump_can_be_opened(folder: Path, part: str) -> None:
    dump = open_dump(folder / part)
    assert values(dump) == [0, 1, 2, 3, 4, 5]
    (device,) = dump.devices
    assert (device.number, device.pid, [one.number for one in device.rounds]) == (0, 1234, [0])


@pytest.mark.parametrize("part", ["atb_dump_data/data/0_1234", ROUND])
@pytest.mark.parametrize("name", ["golden", "5", "run_1"])
def test_a_part_may_be_called_anything_else(folder: Path, part: str, name: str) -> None:
    (folder / part).rename(folder / name)
    assert values(open_dump(folder / name)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("part", ["", "empty", ROUND + "/2_Layer/before"])
def test_what_is_no_dump_is_said(tmp_path: Path, part: str) -> None:
    (tmp_path / part / "other").mkdir(parents=True)
    with pytest.raises(DumpError, match="this is no dump"):
        open_dump(tmp_path / part)
    with pytest.raises(FileNotFoundError):
        open_dump(tmp_path / "nothing")


def test_a_dump_with_nothing_in_it_is_one(tmp_path: Path) -> None:
    (tmp_path / "atb_dump_data/data").mkdir(parents=True)
    assert open_dump(tmp_path).devices == []


def test_devices_and_rounds_are_sorted_by_number(tmp_path: Path) -> None:
    for process in ("10_9", "2_9", "2_9.1", "2_9.old1", "-1_7"):
        for number in ("0", "10", "9"):
            put(tmp_path / "data" / process / number / "0_A/before/intensor0.bin", content(0))
    dump = open_dump(tmp_path)
    assert [str(device.name) for device in dump.devices] == ["-1_7", "2_9", "2_9.1", "2_9.old1", "10_9"]
    assert [one.number for one in dump.devices[0].rounds] == [0, 9, 10]
    assert dump.devices[1][9].number == 9
    with pytest.raises(KeyError):
        dump.devices[1][8]
    assert len(list(dump.find(device=2, round=9))) == 3


def test_operations_are_found_by_ids_and_names(folder: Path) -> None:
    one = one_round(folder)
    attention = one["2_1"]
    assert attention is one["2"]["1"] is one["2"][1] is one["2"]["Attention"] is one["2"]["1_Attention"]
    assert (attention.name, attention.names, attention.ids) == ("Attention", "Layer/Attention", "2_1")
    assert attention.full_name == "2_Layer/1_Attention"
    assert attention.param == {"headNum": 2}
    assert one["2"].param is None
    assert [op.ids for op in one.walk()] == ["2", "2_1", "10"]
    assert [(tensor.index, tensor.name.parameter) for tensor in attention.inputs] == [(2, "key"), (10, None)]
    assert [tensor.io for tensor in attention.tensors] == ["input", "input", "output"]
    with pytest.raises(KeyError):
        one["2_2"]
    with pytest.raises(KeyError):
        one["2"]["2"]


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({}, 6),
        ({"ids": "2_1"}, 3),
        ({"ids": "2"}, 2),
        ({"name": "Attention"}, 3),
        ({"name": "Layer/Att*"}, 3),
        ({"name": "attention"}, 0),
        ({"io": "output"}, 2),
        ({"ids": "2_1", "io": "input", "index": 10}, 1),
        ({"ids": "2_1", "name": "Norm"}, 0),
    ],
)
def test_tensors_are_found(folder: Path, arguments: dict[str, str], count: int) -> None:
    assert len(one_round(folder).find(**arguments)) == count
    assert len(list(open_dump(folder).find(**arguments))) == count


def row(ids: str, names: str, side: str, index: str, path: str = "N/A") -> str:
    kind = names.rpartition("/")[2]
    return f"0_1234,0,{names},{kind},{ids},{side},{index},float,nd,1,1,1,1,1,{path}\n"


def test_the_order_is_that_of_the_csv(folder: Path) -> None:
    rows = [
        row("10", "Norm", "input", "0", "/elsewhere/data/0_1234/0/10_Norm/before/intensor0.bin"),
        row("2_1", "Layer/Attention", "input", "10", "/gone/0/2_Layer/1_Attention/before/intensor10.bin"),
        row("2_1_0", "Layer/Attention/Kernel", "input", "0"),
        row("2_1", "Layer/Attention", "output", "0", "N/A"),
    ]
    put(folder / ROUND / "statistic.csv", STATISTIC_HEADER + "".join(rows))
    one = one_round(folder)
    order = [(tensor.op.ids, tensor.name.file) for tensor in one.tensors]
    assert order == [
        ("10", "intensor0.bin"),
        ("2_1", "intensor10.bin"),
        ("2_1_0", "intensor0.bin"),
        ("2_1", "outtensor0.bin"),
        ("2", "intensor0.bin"),
        ("2_1", "intensor2_key.bin"),
        ("2", "outtensor0.bin"),
    ]
    assert [op.ids for op in one.ops] == ["10", "2"]
    assert [tensor.row is not None for tensor in one.tensors] == [True] * 4 + [False] * 3
    kernel = one.tensors[2]
    assert kernel.path is None
    assert not kernel.is_missing
    assert kernel.op.parent is one["2_1"]
    assert kernel.op.is_kernel
    with pytest.raises(DumpError, match="only its statistics"):
        kernel.load()


def test_a_file_that_the_csv_names_and_is_gone_is_missing(folder: Path) -> None:
    path = folder / ROUND / "10_Norm/before/intensor0.bin"
    put(folder / ROUND / "statistic.csv", STATISTIC_HEADER + row("10", "Norm", "input", "0", str(path)))
    path.unlink()
    (missing,) = [tensor for tensor in one_round(folder).tensors if tensor.op.name == "Norm"]
    assert missing.is_missing
    with pytest.raises(DumpError, match="is missing"):
        missing.load()


@pytest.mark.parametrize("path", ["/../../before/intensor0.bin", "/../2_x/before/intensor0.bin", "a", "/" * 50])
def test_a_hostile_path_in_the_csv_leads_nowhere(folder: Path, path: str) -> None:
    put(folder / ROUND / "statistic.csv", STATISTIC_HEADER + row("3_4", "../..", "input", "0", path))
    (tensor,) = [tensor for tensor in one_round(folder).tensors if tensor.row is not None]
    assert tensor.path is None
    assert tensor.op.path == folder / ROUND / "3_.." / "4_.."
    assert tensor.op.param is None


def test_a_parameter_file_is_read_only_if_it_is_a_file_of_the_dump(folder: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret.json", "{}")
    layer = folder / ROUND / "2_Layer"
    (layer / "op_param.json").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        _ = one_round(folder)["2"].param
    (layer / "op_param.json").unlink()
    os.mkfifo(layer / "op_param.json")
    with pytest.raises(DumpError, match="not a file"):
        _ = one_round(folder)["2"].param
    (layer / "op_param.json").unlink()
    put(layer / "op_param.json", "[" * 100_000)
    with pytest.raises(DumpError, match="not JSON"):
        _ = one_round(folder)["2"].param


def test_what_the_probe_does_not_make_is_passed_over(folder: Path, tmp_path: Path) -> None:
    one = folder / ROUND
    put(one / "2_Layer/before/notes.txt", "x")
    put(one / "2_Layer/before/.intensor1.bin.3.tmp", content(1))
    put(one / "2_Layer/before/outtensor0.bin", content(1))  # stale memory, of another tool
    put(tmp_path / "secret/before/intensor0.bin", content(9))
    (one / "3_Link").symlink_to(tmp_path / "secret")
    (one / "2_Layer/before/intensor5.bin").symlink_to(tmp_path / "secret/before/intensor0.bin")
    os.mkfifo(one / "2_Layer/before/intensor6.bin")
    assert values(open_dump(folder)) == [0, 1, 2, 3, 4, 5]


def test_a_folder_that_cannot_be_read_is_a_problem_of_its_round(folder: Path) -> None:
    deep = folder / ROUND
    descriptor = os.open(deep, os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("1_" + "x" * 240, dir_fd=descriptor)
            inner = os.open("1_" + "x" * 240, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)
    found = one_round(folder)
    assert len(found.tensors) == 6
    (problem,) = found.problems
    assert "cannot be read" in problem.reason


# ---- references ----

HOME = "2_Layer/after/outtensor0.bin"


def refer(folder: Path, reference: str, *, dims: str = "", dtype: int = 0) -> Path:
    return put(folder / ROUND / "3_Next/before/intensor0.bin", reference_file(reference, dtype, dims))


@pytest.mark.parametrize("name", [None, "golden", "copy_of_0"])
def test_a_reference_is_resolved(folder: Path, name: str | None) -> None:
    """Also where a round was copied to, and by its path alone."""
    path = refer(folder, "2_1_outtensor0.bin")
    if name is not None:
        (folder / ROUND).rename(folder / name)
        path = folder / name / path.relative_to(folder / ROUND)
    tensor = atbprobe_rules.load(path)
    assert float(np.asarray(tensor)) == 3
    assert tensor.is_reference
    assert tensor.path == path
    assert tensor.data_path.name == "outtensor0.bin"
    (same,) = open_dump(folder if name is None else folder / name).find(name="Next")
    assert float(np.asarray(same.load())) == 3


def test_a_reference_is_resolved_from_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(refer(folder, "2_1_intensor2_key.bin").parent)
    assert float(np.asarray(atbprobe_rules.load("intensor0.bin"))) == 1


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("2_outtensor1.bin", "there is no '2_outtensor1.bin'"),
        ("7_outtensor0.bin", "there is no"),
        ("outtensor0.bin", "no id path"),
        ("../../2_outtensor0.bin", "no id path"),
        ("2_../../../etc/passwd", "no id path"),
        ("/etc/passwd", "no id path"),
        ("2_outtensor/../../x.bin", "no id path"),
        ("2_intensor0.bin\\", "no id path"),
        ("3_intensor0.bin", "which is a reference itself"),
        ("9" * 60000 + "_outtensor0.bin", "there is no"),
    ],
)
def test_a_reference_that_leads_nowhere_is_said(folder: Path, reference: str, reason: str) -> None:
    path = refer(folder, reference)
    for read in (lambda: atbprobe_rules.load(path), lambda: next(open_dump(folder).find(name="Next")).load()):
        with pytest.raises(DumpError) as caught:
            read()
        assert caught.value.path == path
        assert reason in caught.value.reason


@pytest.mark.parametrize("wrong", [{"dims": "1"}, {"dtype": 3}])
def test_a_reference_to_another_type_or_shape(folder: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(DumpError, match="another type or shape"):
        atbprobe_rules.load(refer(folder, "2_outtensor0.bin", **wrong))


def test_references_to_each_other_end(folder: Path) -> None:
    path = refer(folder, "4_intensor0.bin")
    put(folder / ROUND / "4_Other/before/intensor0.bin", reference_file("3_intensor0.bin"))
    with pytest.raises(DumpError, match="a reference itself"):
        atbprobe_rules.load(path)


def test_a_reference_does_not_follow_links(folder: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret/after/outtensor0.bin", content(9))
    path = refer(folder, "7_outtensor0.bin")
    (folder / ROUND / "7_Folder").symlink_to(secret.parent.parent)
    with pytest.raises(DumpError, match="there is no"):
        atbprobe_rules.load(path)
    (folder / ROUND / "7_Folder").unlink()
    (folder / ROUND / "7_File/after").mkdir(parents=True)
    (folder / ROUND / "7_File/after/outtensor0.bin").symlink_to(secret)
    with pytest.raises(DumpError, match="symbolic link"):
        atbprobe_rules.load(path)


def test_two_files_that_a_reference_could_name(folder: Path) -> None:
    path = refer(folder, "2_outtensor0.bin")
    put(folder / ROUND / "2_Twin/after/outtensor0.bin", content(8))
    with pytest.raises(DumpError, match="could be"):
        atbprobe_rules.load(path)


def test_a_reference_that_is_in_no_dump(tmp_path: Path) -> None:
    path = put(tmp_path / "x.bin", reference_file("2_outtensor0.bin"))
    with pytest.raises(DumpError, match="or the file is in no dump"):
        atbprobe_rules.load(path)


# ---- notebooks ----


def test_a_notebook_shows_a_dump(folder: Path) -> None:
    (folder / ROUND).rename(folder / ROUND / "../12")
    put(folder / "atb_dump_data/data/0_1234/7/0_A/before/intensor0.bin", content(0))
    shown = open_dump(folder)._repr_html_()
    assert "0_1234" in shown
    assert "7, 12" in shown
    assert "2 rounds" in repr(open_dump(folder).devices[0])
    one = open_dump(folder).devices[0][12]
    assert repr(one) == "<Round 12 of 0_1234, 6 tensors>"
    assert repr(one["2_1"]) == "<Op 2_1 Layer/Attention, 0 children, 3 tensors>"
    assert repr(one.tensors[0]) == "<2_Layer/before/intensor0.bin, data>"


def test_a_notebook_shows_the_first_operations_of_a_round(tmp_path: Path) -> None:
    for number in range(201):
        put(tmp_path / f"data/0_1/0/{number}_A/before/intensor0.bin", content(0))
    shown = one_round(tmp_path)._repr_html_()
    assert "<td>199</td><td>A</td><td>1</td><td>0</td><td>0</td>" in shown
    assert "<td>200</td>" not in shown
    assert "<td>…</td>" in shown


def test_hostile_names_are_text_in_a_notebook(tmp_path: Path) -> None:
    place = tmp_path / "<script>\x1b[2J"
    put(place / "data/0_1/0/0_<i>\x1b[2J/before/intensor0.bin", content(0))
    dump = open_dump(place)
    (tensor,) = dump.tensors
    assert "<i>" not in tensor.op.round._repr_html_()
    for shown in (
        dump._repr_html_(),
        tensor.op.round._repr_html_(),
        repr(dump),
        repr(tensor),
        repr(tensor.op),
        repr(tensor.op.round),
    ):
        assert "\x1b" not in shown
    assert "<script>" not in dump._repr_html_()


@pytest.mark.parametrize(("dtype", "dims"), [(3, ""), (0, "1")])
def test_a_file_of_another_type_or_shape_than_the_csv_says(folder: Path, dtype: int, dims: str) -> None:
    put(folder / ROUND / "10_Norm/before/intensor0.bin", bin_file(FLOAT, dtype, dims))
    rows = row("10", "Norm", "input", "0").replace(",1,1,1,1,1,", ",,1,1,1,1,") + row(
        "2", "Layer", "input", "0"
    ).replace(",nd,1,", ",nd,what,")
    put(folder / ROUND / "statistic.csv", STATISTIC_HEADER + rows)
    norm, layer, *_ = one_round(folder).tensors
    with pytest.raises(DumpError, match=r"statistic\.csv has another type or shape"):
        norm.load()
    assert layer.load().shape == ()
