"""What the saver writes: files, rows, names."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from saver_driver import (
    ALL,
    INPUT,
    STATISTICS,
    TENSOR,
    Driver,
    StartDriver,
    read_bin,
    saved_files,
)

from atbprobe_rules.dump.open_dump import open_dump

TYPE_NAMES = {
    -1: "undefined", 0: "float", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16",
    8: "uint32", 9: "int64", 10: "uint64", 11: "double", 12: "bool", 13: "string", 16: "complex64",
    17: "complex128", 27: "bf16", 29: "int4", 30: "uint1", 33: "complex32", 34: "hifloat8",
    35: "float8_e5m2", 36: "float8_e4m3fn", 37: "float8_e8m0", 38: "float6_e3m2", 39: "float6_e2m3",
    40: "float4_e2m1", 41: "float4_e1m2", 99: "undefined(99)",
}  # fmt: skip
# Without a meaning, or, where they have fewer than eight bits, in a buffer that does not fit the shape.
NOT_DECODED = {-1, 13, 29, 30, 38, 39, 40, 41, 99}
FORMAT_NAMES = {
    0: "nchw", 1: "nhwc", 2: "nd", 3: "nc1hwc0", 4: "fractal_z", 12: "nc1hwc0_c04", 16: "hwcn", 27: "ndhwc",
    29: "fractal_nz", 30: "ncdhw", 32: "ndc1hwc0", 33: "fractal_z_3d", 35: "nc", 47: "ncl",
    50: "fractal_nz_c0_16", 51: "fractal_nz_c0_32", 5: "undefined(5)", -1: "undefined(-1)",
}  # fmt: skip


@pytest.mark.parametrize("dtype", sorted(TYPE_NAMES))
def test_every_type_gets_a_row_and_a_file(driver: Driver, dtype: int) -> None:
    data = bytes(range(48))
    driver.save(data=data, dtype=dtype, dims="6,1")
    assert driver.finish()["tensors_saved"] == 1
    (row,) = driver.rows()
    assert row["Dtype"] == TYPE_NAMES[dtype]
    assert row["Shape"] == "6x1"
    assert (row["Max"] == "N/A") == (dtype in NOT_DECODED)
    attributes, stored = read_bin(Path(row["Tensor Path"]))
    assert stored == data
    assert attributes["dtype"] == str(dtype)


@pytest.mark.parametrize("layout", sorted(FORMAT_NAMES))
def test_every_format_has_its_name(driver: Driver, layout: int) -> None:
    driver.save(layout=layout)
    driver.finish()
    assert driver.rows()[0]["Format"] == FORMAT_NAMES[layout]


def test_bin_is_text_then_data(driver: Driver) -> None:
    driver.save(data=b"\x00\x3c" * 8, dtype=1, dims="4,2")
    driver.finish()
    assert (driver.data / INPUT).read_bytes() == (
        b"$Version=1.0\n$Object.Count=1\n$Object.Length=16\nformat=2\ndtype=1\ndims=4,2\n"
        b"$Object.data=0,16\n$End=1\n" + b"\x00\x3c" * 8
    )


def test_row_names_the_operation(driver: Driver) -> None:
    path = "0_1234/7/2_Prefill_layer/1_Attention/after/outtensor2_value.bin"
    driver.save(path, dims="36,128")
    driver.finish()
    (row,) = driver.rows("0_1234/7")
    del row["Max"], row["Min"], row["Mean"], row["Norm"]
    assert row == {
        "Device and PID": "0_1234",
        "Execution Count": "7",
        "Op Name": "Prefill_layer/Attention",
        "Op Type": "Attention",
        "Op Id": "2_1",
        "Input/Output": "output",
        "Index": "2_value",
        "Dtype": "float",
        "Format": "nd",
        "Shape": "36x128",
        "Tensor Path": str(driver.data / path),
    }


def test_tasks(driver: Driver) -> None:
    for number, tasks in enumerate((TENSOR, STATISTICS, ALL, 0)):
        driver.save(f"0_1234/{number}/2_Prefill_layer/before/intensor0.bin", tasks=tasks)
    assert driver.finish()["tensors_saved"] == 3
    (tensor,), (statistics,), (both,) = (driver.rows(f"0_1234/{number}") for number in range(3))
    assert [tensor["Max"], statistics["Max"], both["Max"]] == ["N/A", "1", "1"]
    assert statistics["Tensor Path"] == "N/A"
    assert Path(tensor["Tensor Path"]).is_file()
    assert Path(both["Tensor Path"]).is_file()
    assert [path.name for path in (driver.data / "0_1234" / "1").iterdir()] == ["statistic.csv"]
    assert not (driver.data / "0_1234" / "3").exists()


def test_scalar_and_empty_tensor(driver: Driver) -> None:
    driver.save(dims="")
    driver.save("0_1234/0/2_Prefill_layer/before/intensor1.bin", b"", dtype=1, dims="0,128")
    driver.finish()
    scalar, empty = driver.rows()
    assert [scalar["Shape"], scalar["Max"], scalar["Norm"]] == ["", "1", "1"]
    assert [empty[column] for column in ("Shape", "Max", "Min", "Mean", "Norm")] == ["0x128"] + ["N/A"] * 4
    assert read_bin(Path(empty["Tensor Path"]))[1] == b""


@pytest.mark.parametrize(
    "path",
    [
        "0_1234/0/2_add_after_norm/before/outtensor0.bin",
        "0_1234/0/2_before_intensor/after/intensor0.bin",
        "0_1234/0/2_Prefill_layer/before/other.bin",
        "0_1234/0/before/intensor0/1_Gather/middle/intensor0.bin",
    ],
)
def test_only_the_last_two_components_say_what_a_tensor_is(driver: Driver, path: str) -> None:
    driver.save(path)
    counters = driver.finish()
    assert not driver.output.exists()
    assert sum(counters.values()) == 0
    assert driver.said() == ""


def test_an_operation_may_be_called_like_a_tensor(driver: Driver) -> None:
    driver.save("0_1234/0/2_add_after_norm/1_outtensor/before/intensor0.bin")
    driver.finish()
    assert driver.rows()[0]["Op Name"] == "add_after_norm/outtensor"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/0_1/0/2_A/before/intensor0.bin",
        "0_1/0/2_A/before/",
        "intensor0.bin",
        "0_1/0/before/intensor0.bin",
    ],
)
def test_a_path_that_no_host_gives_is_a_counted_loss(driver: Driver, path: str) -> None:
    driver.save(path)
    driver.save(path)
    counters = driver.finish()
    assert counters["bad_path"] == 2
    assert not driver.output.exists()
    assert len([line for line in driver.said().splitlines() if "lost (bad_path)" in line]) == 1


def test_parameters_are_stored_as_given_in_a_line(driver: Driver) -> None:
    driver.save_param("0_1234/0/2_Prefill_layer/0_Linear/op_param.json", b'{"transposeA":false}')
    driver.finish()
    stored = driver.data / "0_1234/0/2_Prefill_layer/0_Linear/op_param.json"
    assert stored.read_bytes() == b'{"transposeA":false}\n'


def test_modes(driver: Driver) -> None:
    driver.save()
    driver.finish()
    for path in driver.output.rglob("*"):
        assert path.stat().st_mode & 0o027 == 0 or path.stat().st_mode & 0o7777 in (0o750, 0o640), path


@pytest.mark.parametrize(
    ("name", "on_disk"),
    [
        (b"Mlp<Silu>:0", b"2_Mlp<Silu>:0"),
        ("注意力".encode(), "2_注意力".encode()),
        (b"nul\0byte", b"2_nul%00byte"),
        (b'say "a, b"', b'2_say "a, b"'),
        (b"two\nlines", b"2_two\nlines"),
        (b"carriage\rreturn\r\n", b"2_carriage\rreturn\r\n"),
        (b"\xff\xfe", b"2_\xff\xfe"),
        (b"=1+2", b"2_=1+2"),
    ],
)
def test_odd_names(driver: Driver, name: bytes, on_disk: bytes) -> None:
    driver.save(b"0_1234/0/2_" + name + b"/before/intensor0.bin")
    assert driver.finish()["tensors_saved"] == 1
    (row,) = driver.rows()
    assert os.fsencode(row["Op Type"]) == name
    stored = os.fsencode(row["Tensor Path"])
    assert stored == os.fsencode(driver.data) + b"/0_1234/0/" + on_disk + b"/before/intensor0.bin"
    assert os.path.isfile(stored)  # noqa: PTH113  (Path takes no bytes)
    [one] = open_dump(driver.data).rounds
    [tensor] = one.tensors
    assert (os.fsencode(tensor.op.name), one.problems) == (name, ())
    assert tensor.row is not None
    assert tensor.load().dtype == tensor.row.dtype


@pytest.mark.parametrize(("component", "on_disk"), [(".", "%2E"), ("..", "%2E%2E")])
def test_dots_lead_nowhere(driver: Driver, component: str, on_disk: str) -> None:
    driver.save(f"0_1234/0/2_A/{component}/{component}/before/intensor0.bin")
    driver.save(f"{component}/{component}/2_A/before/intensor0.bin")
    assert driver.finish()["tensors_saved"] == 2
    assert (driver.data / "0_1234/0/2_A" / on_disk / on_disk / "before/intensor0.bin").is_file()
    assert (driver.data / on_disk / on_disk / "2_A/before/intensor0.bin").is_file()
    assert driver.rows()[0]["Op Name"] == f"A/{component}/{component}"


@pytest.mark.parametrize(
    ("character", "count"), [("x", 300), ("é", 150), ("aé", 100), ("注", 100), ("x", 253), ("x", 254)]
)
def test_long_names_are_cut_at_a_character(driver: Driver, character: str, count: int) -> None:
    name = character * count
    component = f"2_{name}"
    driver.save(f"0_1234/0/{component}/before/intensor0.bin")
    driver.finish()
    (row,) = driver.rows()
    assert row["Op Name"] == name
    raw = component.encode()
    cut = raw[:200].decode(errors="ignore") + "~" + hashlib.sha256(raw).hexdigest()[:16]
    on_disk = component if len(raw) <= 255 else cut
    assert row["Tensor Path"] == str(driver.data / "0_1234/0" / on_disk / "before/intensor0.bin")
    assert Path(row["Tensor Path"]).is_file()


def test_deep_trees(driver: Driver) -> None:
    folder = "0_1234/0/" + "/".join(f"{n}_Operation" for n in range(40))
    for leaf in ("a", "b"):
        driver.save(f"{folder}/0_{leaf}/before/intensor0.bin")
        driver.save(f"{folder}/before/intensor{leaf}.bin")
    assert driver.finish()["tensors_saved"] == 4
    assert len([path for path in saved_files(driver.data / "0_1234") if path.suffix == ".bin"]) == 4


@pytest.mark.parametrize("folder", ["with blank", "c++", "目录", "a\nb"])
def test_odd_output_folders(start: StartDriver, tmp_path: Path, folder: str) -> None:
    driver = start(output=tmp_path / folder / "new")
    driver.save()
    driver.finish()
    assert Path(driver.rows()[0]["Tensor Path"]).read_bytes() == (driver.data / INPUT).read_bytes()


def test_fields_that_a_spreadsheet_would_execute_are_quoted(driver: Driver) -> None:
    driver.save("-1_1234/0/2_@sum/before/intensor0.bin", np.array([-1.5], np.float32).tobytes())
    driver.finish()
    line = (driver.data / "-1_1234/0/statistic.csv").read_text().splitlines()[1]
    assert line.startswith('"-1_1234",0,"@sum","@sum",2,')
    assert ",-1.5,-1.5,-1.5,1.5," in line
