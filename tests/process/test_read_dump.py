"""Dumps of real processes, read back: what the host computed, in the order in which it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_files import Expected, read_expected, run_model
from numpy.typing import NDArray
from probed_host import Probed
from saver_driver import STATISTICS, TENSOR, Driver, StartDriver

from atbprobe_rules import open_dump
from atbprobe_rules.dump.element_types import ELEMENT_TYPES, FORMATS
from atbprobe_rules.dump.op import StoredTensor
from dump_files import put
from narrow_values import NARROW

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True}


def norm(values: NDArray[Any]) -> float:
    """Squares of large doubles are none any more."""
    return float(np.sqrt(sum(np.longdouble(part) ** 2 for part in (*values.real.flat, *values.imag.flat))))


def place(tensor: StoredTensor) -> str:
    one = tensor.op.round
    return f"{one.path.parent.name}/{one.path.name}/{tensor.full_name}"


def check_same(tensors: list[StoredTensor], expected: list[Expected]) -> None:
    """Order, type, shape and every byte."""
    assert [place(tensor) for tensor in tensors] == [one.path for one in expected]
    for tensor, one in zip(tensors, expected, strict=True):
        loaded = tensor.load()
        assert loaded.array.tobytes() == one.data
        assert loaded.element_type.number == one.dtype
        assert loaded.shape == tuple(int(size) for size in one.dims.split(",") if size)
        assert loaded.format == FORMATS[one.format]


@pytest.mark.parametrize("task", ["tensor", "all"])
@pytest.mark.parametrize(
    "options", [["--plain-names"], ["--plugin-operations"], ["--bf16-layer", "0"]], ids=lambda words: words[0]
)
def test_a_run_is_read_back_in_the_order_of_execution(probed: Probed, task: str, options: list[str]) -> None:
    rules = {**EVERYTHING, "task": task, "filter_level": 1}
    expected, _ = read_expected(run_model(probed, rules, *options))
    expected.sort(key=lambda tensor: int(tensor.path.split("/")[1]))  # rounds of different layers take turns
    tensors = list(open_dump(probed.folder).tensors)

    check_same(tensors, expected)
    assert any(tensor.load().is_reference for tensor in tensors)
    for tensor in tensors:
        row = tensor.row
        assert row is not None
        assert row.path == str(tensor.path)
        assert row.dtype == tensor.load().dtype
        assert row.has_statistics == (task == "all")
    one = open_dump(probed.folder).devices[0].rounds[0]
    (attention,) = one.find(name="Prefill_layer/Attention", io="output")
    assert attention.op is one[attention.op.ids]


def test_a_run_of_statistics_alone(probed: Probed) -> None:
    expected, _ = read_expected(run_model(probed, {**EVERYTHING, "task": "statistics"}))
    tensors = list(open_dump(probed.data).tensors)
    assert len(tensors) == len(expected)
    assert {tensor.path for tensor in tensors} == {None}
    assert all(tensor.row is not None and tensor.row.has_statistics for tensor in tensors)
    sides = ("input", "output")
    by_place = sorted((tensor.op.full_name, tensor.io, tensor.name.label) for tensor in tensors)
    wanted = sorted(
        (one.path.split("/", 2)[2].rsplit("/", 2)[0], sides[not one.is_input], Path(one.path).stem.partition("sor")[2])
        for one in expected
    )
    assert by_place == wanted


def test_parameters(probed: Probed) -> None:
    run_model(probed, EVERYTHING)
    read = [op.param for one in open_dump(probed.folder).rounds for op in one.walk()]
    assert len([param for param in read if isinstance(param, dict)]) > 5


def test_every_type_as_its_statistics_say(driver: Driver) -> None:
    """The library's own decoding, written to statistic.csv, against that of the bytes beside it."""
    codes = np.random.default_rng(3).integers(0, 256, 64, dtype=np.uint8)
    for number in sorted(ELEMENT_TYPES):
        bits = NARROW[number][0] if number in NARROW else 8
        data = (codes & (2**bits - 1)).tobytes()
        elements = 64 // max(ELEMENT_TYPES[number].bits // 8, 1)
        driver.save(f"0_1234/0/{max(number, 0)}_A/before/intensor{number}.bin", data, dtype=number, dims=str(elements))
    driver.finish()
    tensors = list(open_dump(driver.output).tensors)
    assert len(tensors) == len(ELEMENT_TYPES)
    compared = 0
    for tensor in tensors:
        loaded, row = tensor.load(), tensor.row
        assert row is not None
        assert row.dtype == loaded.dtype
        if not loaded.element_type.is_readable:
            assert not row.has_statistics
            continue
        with np.errstate(all="ignore"):
            kind = np.complex128 if loaded.array.dtype.kind == "c" else np.float64
            values = loaded.array.astype(kind)
            assert row.mean is not None
            assert row.norm is not None
            np.testing.assert_allclose(row.mean, values.mean(), rtol=1e-9)
            np.testing.assert_allclose(row.norm, norm(values), rtol=1e-9)
        compared += 1
    assert compared == len(ELEMENT_TYPES) - 2


@pytest.mark.parametrize("dtype", [dtype for dtype, (bits, _) in NARROW.items() if bits in (1, 4)])
def test_packed_types_as_their_statistics_say(driver: Driver, dtype: int) -> None:
    driver.save(data=b"\x21\x73\xf5", dtype=dtype, dims=str(24 // NARROW[dtype][0] - 1))
    driver.finish()
    (tensor,) = open_dump(driver.output).tensors
    values = tensor.load().array.astype(np.float64)
    assert tensor.row is not None
    assert tensor.row.mean == pytest.approx(values.mean(), rel=1e-14)
    assert tensor.row.max == values.max()


LONG = "注意" * 120
ODD_NAMES = ["Mlp<Silu>:0", "with blank", 'say "a, b"', "two\nlines", "=1+2", "é" * 150, LONG, "a%2Eb", "-5"]


@pytest.mark.parametrize("tasks", [TENSOR, STATISTICS])
def test_odd_names_are_the_true_ones(driver: Driver, tasks: int) -> None:
    for number, name in enumerate(ODD_NAMES):
        driver.save(f"0_1234/0/{number}_{name}/0_Inner/before/intensor0.bin", tasks=tasks)
    driver.save("0_1234/0/9_Mlp/before/with slash/../before/intensor0.bin", tasks=tasks)
    driver.finish()
    (one,) = open_dump(driver.output).rounds
    assert [op.name for op in one.ops] == [*ODD_NAMES, "Mlp"]
    assert one.problems == ()
    assert one.tensors[-1].op.names == "Mlp/before/with slash/.."
    assert [tensor.path is not None for tensor in one.tensors] == [tasks == TENSOR] * 10
    if tasks == TENSOR:
        assert all(op.path.is_dir() for op in one.walk())
        assert [tensor.load().shape for tensor in one.tensors] == [(1,)] * 10
    assert one["6"].path.name.startswith("6_注意")
    assert "~" in one["6"].path.name


def test_names_without_a_csv_are_those_of_the_folders(driver: Driver) -> None:
    for name in ("Plain", LONG, ".."):
        driver.save(f"0_1234/0/1_{name}/../before/intensor0.bin")
    driver.finish()
    (driver.data / "0_1234/0/statistic.csv").unlink()
    (one,) = open_dump(driver.output).rounds
    assert {tensor.op.name for tensor in one.tensors} == {".."}
    assert {op.name[:2] for op in one.ops} == {"Pl", "注意", ".."}


def test_folders_of_other_processes_of_the_same_pid(start: StartDriver, tmp_path: Path) -> None:
    put(tmp_path / "out/atb_dump_data/data/0_1234/0/2_A/before/intensor0.bin", "of another machine")
    for _ in range(2):
        driver = start(output=tmp_path / "out")
        driver.save()
        driver.finish()
    dump = open_dump(tmp_path / "out")
    assert len(dump.devices) == 3
    assert {device.pid for device in dump.devices} == {1234}
    assert len({str(device.name) for device in dump.devices}) == 3
    for device in dump.devices:
        for tensor in device.rounds[0].tensors:
            if tensor.row is not None:
                assert tensor.row.path == str(tensor.path)
                assert tensor.load().array.tolist() == [1]


def test_a_replaced_tensor_has_its_last_row(driver: Driver) -> None:
    for value in (1, 2):
        driver.save(data=np.float32(value).tobytes())
    driver.finish()
    (tensor,) = open_dump(driver.output).tensors
    assert tensor.load().array.tolist() == [2]
    assert tensor.row is not None
    assert tensor.row.max == 2


def test_anomalies(driver: Driver) -> None:
    driver.save(data=np.array([1, np.inf, np.nan], np.float32).tobytes(), dims="1,3")
    driver.finish()
    (one,) = open_dump(driver.output).rounds
    (row,) = one.anomalies
    assert (row.nan, row.positive_infinity, row.negative_infinity, row.position, row.index) == (1, 1, 0, 1, (0, 1))
    assert row.path == str(one.tensors[0].path)
