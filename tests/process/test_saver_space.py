"""The space that stays free on the output's file system, and what is on the disk before it counts as saved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from mounted_disk import small_disk
from saver_driver import ALL, INPUT, STATISTICS, TENSOR, Driver, StartDriver, loose_ends, saved_files

MIB = 1 << 20
TENSOR_BYTES = 100_000


def input_path(number: int) -> str:
    return f"0_1234/0/2_A/before/intensor{number}.bin"


def save_many(driver: Driver, count: int, tasks: int = ALL) -> dict[str, int]:
    for number in range(count):
        driver.save(input_path(number), bytes(TENSOR_BYTES), dtype=4, tasks=tasks)
    return driver.counters("idle")


def stored_tensors(driver: Driver) -> list[Path]:
    return [path for path in saved_files(driver.data) if path.suffix == ".bin"]


def free_bytes(disk: Path) -> int:
    status = os.statvfs(disk)
    return status.f_bavail * status.f_frsize


def test_the_reserve_stays_free(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        driver = start(output=disk, ATBPROBE_MIN_FREE="2 MiB")
        counters = save_many(driver, 40)
        assert free_bytes(disk) >= 2 * MIB
        stored = stored_tensors(driver)
        assert len(stored) == counters["tensors_saved"] > 0
        assert counters["below_reserve"] == 40 - len(stored) > 0
        assert counters["no_space"] == 0
        assert not loose_ends(driver.output)

        rows = driver.rows()
        assert len(rows) == 40
        assert {row["Max"] for row in rows} == {"0"}
        assert {row["Tensor Path"] for row in rows} - {"N/A"} == {str(path) for path in stored}
        assert driver.said().count("no room for data") == 1
        assert f"{2 * MIB} of them are to stay free (ATBPROBE_MIN_FREE)" in driver.said()
        assert str(driver.data) in driver.said()
        assert "lost (" not in driver.said()

        driver.finish()
        assert (
            f"{40 - len(stored)} of the selected tensors and parameters are not on disk: below_reserve" in driver.said()
        )


def test_saving_goes_on_when_there_is_room_again(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        driver = start(output=disk, ATBPROBE_MIN_FREE="2 MiB")
        before = save_many(driver, 40)
        for file in stored_tensors(driver):
            file.unlink()
        # The file system is asked again after a while: until then tensors are still left out.
        after = before
        while after["tensors_saved"] == before["tensors_saved"]:
            driver.save(input_path(0), bytes(TENSOR_BYTES), dtype=4)
            after = driver.counters("idle")
        driver.finish()
        assert [path.name for path in stored_tensors(driver)] == ["intensor0.bin"]
        assert driver.said().count("room for data again") == 1
        assert driver.said().count("no room for data") == 1


def test_rows_and_parameters_go_on_below_the_reserve(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        driver = start(output=disk, ATBPROBE_MIN_FREE="1 GiB")
        driver.save(input_path(0), tasks=STATISTICS)
        driver.save(input_path(1), tasks=TENSOR)
        driver.save_param("0_1234/0/2_A/op_param.json", b"{}")
        counters = driver.finish()
        assert counters["below_reserve"] == 1
        assert counters["tensors_saved"] == 1
        assert [row["Tensor Path"] for row in driver.rows()] == ["N/A", "N/A"]
        assert (driver.data / "0_1234/0/2_A/op_param.json").read_text() == "{}\n"


def test_a_tensor_that_does_not_fit_keeps_no_other_one_out(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        driver = start(output=disk)
        driver.save(input_path(0), bytes(3 * MIB), dtype=4)
        driver.save(input_path(1), bytes(TENSOR_BYTES), dtype=4)
        counters = driver.finish()
        assert counters["below_reserve"] == 1
        assert [path.name for path in stored_tensors(driver)] == ["intensor1.bin"]
        assert f"a tensor has {3 * MIB}" in driver.said()


def test_a_twentieth_of_a_small_disk_stays_free_by_default(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "4m") as disk:
        driver = start(output=disk)
        counters = save_many(driver, 60, TENSOR)
        driver.finish()
        assert counters["below_reserve"] > 0
        status = os.statvfs(disk)
        reserve = status.f_blocks * status.f_frsize // 20
        assert reserve <= free_bytes(disk) < reserve + 2 * TENSOR_BYTES
        assert f"{reserve} of them are to stay free" in driver.said()


def test_a_file_system_without_a_size(start: StartDriver, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "0") as disk:
        assert os.statvfs(disk).f_blocks == 0
        driver = start(output=disk, ATBPROBE_MIN_FREE="1 GiB")
        driver.save()
        assert driver.finish()["tensors_saved"] == 1
        assert len(stored_tensors(driver)) == 1


def setting(driver: Driver, name: str) -> int:
    number: int = json.loads(driver.ask("environment"))[name]
    return number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("2 GiB", 2 << 30), ("123456", 123456)])
def test_min_free(start: StartDriver, text: str, number: int) -> None:
    assert setting(start(ATBPROBE_MIN_FREE=text), "min_free") == number


@pytest.mark.parametrize(("name", "text"), [("ATBPROBE_MIN_FREE", "5%"), ("ATBPROBE_FSYNC", "yes")])
def test_a_setting_that_is_none(start: StartDriver, name: str, text: str) -> None:
    driver = start(**{name: text})
    key = name.removeprefix("ATBPROBE_").lower()
    assert setting(driver, key) == setting(start(), key)
    assert f"{name}={text} is not understood" in driver.said()


@pytest.mark.parametrize("fsync", ["0", "1"])
def test_data_is_on_the_disk_before_its_name(
    start: StartDriver, native_file: Callable[[str], Path], tmp_path: Path, fsync: str
) -> None:
    log = tmp_path / "sync_log"
    preload = {"LD_PRELOAD": str(native_file("libsync_log.so")), "SYNC_LOG": str(log)}
    # A driver that is built with the address sanitizer wants its runtime to be loaded before anything else.
    preload["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
    driver = start(ATBPROBE_FSYNC=fsync, ATBPROBE_WRITERS="1", **preload)
    driver.save()
    driver.finish()
    file = driver.data / INPUT
    lines = log.read_text().splitlines()
    renamed = lines.index(f"rename {file}")
    synced = [line.removeprefix("fsync ") for line in lines if line.startswith("fsync ")]
    if fsync == "0":
        assert synced == []
        return
    kind, _, temporary = lines[renamed - 1].partition(" ")
    assert (kind, Path(temporary).parent) == ("fsync", file.parent)
    assert lines[renamed + 1] == f"fsync {file.parent}"
    statistics = file.parents[2] / "statistic.csv"
    assert synced[-2:] == [str(statistics), str(statistics.parent)]
    # Every folder on the way is named by one that is on the disk.
    for folder in (driver.output, driver.data.parent, driver.data, *list(file.parents)[1:4]):
        assert str(folder) in synced
