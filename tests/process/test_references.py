"""References of filter_level, tensor by tensor: each resolves at any moment, whatever is saved or changed after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from saver_driver import ALL, STATISTICS, TENSOR, Driver, StartDriver, loose_ends
from stored_round import StoredRound, reference_to

ROUND = "0_1234/0"
LAYER, CHILD, KERNEL = "2_Layer", "2_Layer/0_Linear", "2_Layer/0_Linear/0_MatMulKernel"


@dataclass
class Round:
    """Saves to one round of a driver, by paths below its folder."""

    driver: Driver
    name: str = ROUND

    def save(self, path: str, data: bytes, *, level: int = 1, dims: str = "4", **more: Any) -> dict[str, int]:
        return self.driver.save(f"{self.name}/{path}", data, filter_level=level, dims=dims, **more)

    def wait(self) -> StoredRound:
        self.driver.ask("idle")
        return self.read()

    def read(self) -> StoredRound:
        return StoredRound.read(self.driver.data / self.name)


@pytest.fixture
def tensors(start: StartDriver) -> Round:
    """With one writer: of equal tensors that are written side by side either may become the one that is referred to."""
    return Round(start(ATBPROBE_WRITERS="1"))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["intensor0.bin", "intensor0_x.bin"])
def test_one_tensor_through_layer_child_and_kernel(tensors: Round, level: int, name: str) -> None:
    paths = [f"{LAYER}/before/{name}", f"{CHILD}/before/{name}", f"{KERNEL}/before/intensor0.bin"]
    for path in paths:
        tensors.save(path, b"abcd", level=level, dtype=4)
    tensors.driver.finish()
    stored = tensors.read()

    refers = {0: [], 1: [name == "intensor0.bin", True], 2: [name == "intensor0.bin", False], 3: [True, True]}[level]
    expected = [path for path, does in zip(paths[1:], refers, strict=False) if does]
    assert stored.references == dict.fromkeys(expected, reference_to(paths[0]))
    assert set(stored.files) == set(paths[:2] if level == 2 else paths)
    assert all(stored.resolve(path).data == b"abcd" for path in stored.files)
    rows = tensors.driver.rows()
    assert [row["Op Id"] for row in rows] == ["2", "2_0", "2_0_0"]
    written = [str(tensors.driver.data / ROUND / path) for path in paths]
    assert [row["Tensor Path"] for row in rows] == (written if level != 2 else [*written[:2], "N/A"])


def test_a_name_that_is_not_a_kernels_is_kept_at_level_2(tensors: Round) -> None:
    tensors.save("0_WordEmbedding/before/intensor0_x.bin", b"abcd", level=2)
    tensors.save("0_KernelHost/1_Linear/before/intensor0.bin", b"efgh", level=2)
    tensors.driver.finish()
    assert len(tensors.read().files) == 2


@pytest.mark.parametrize("tasks", [TENSOR, STATISTICS])
def test_a_kernels_row_stays_whatever_the_task(tensors: Round, tasks: int) -> None:
    tensors.save(f"{KERNEL}/before/intensor0.bin", b"\0\0\x80\x3f", level=2, dims="1", tasks=tasks)
    assert tensors.driver.finish()["tensors_saved"] == 1
    (row,) = tensors.driver.rows()
    assert (row["Tensor Path"], row["Max"]) == ("N/A", "1" if tasks == STATISTICS else "N/A")


def test_other_dtypes_shapes_rounds_and_processes_are_other_tensors(tensors: Round) -> None:
    tensors.save("2_A/before/intensor0.bin", b"abcd", dtype=4)
    tensors.save("2_A/before/intensor1.bin", b"abcd", dtype=2)
    tensors.save("2_A/before/intensor2.bin", b"abcd", dtype=4, dims="2,2")
    tensors.save("2_A/before/intensor3.bin", b"abcd", dtype=4, layout=29)
    others = [Round(tensors.driver, "0_1234/1"), Round(tensors.driver, "1_1234/0")]
    for other in others:
        other.save("2_A/before/intensor1.bin", b"abcd", dtype=4)
    tensors.driver.finish()
    assert tensors.read().references == {"2_A/before/intensor3.bin": "2_intensor0.bin"}
    assert tensors.read().files["2_A/before/intensor3.bin"].format == "29"
    assert [other.read().references for other in others] == [{}, {}]


def test_an_empty_tensor_and_an_operation_without_an_id_are_stored_whole(tensors: Round) -> None:
    for layer in ("2_A", "3_B"):
        tensors.save(f"{layer}/before/intensor0.bin", b"", dims="0")
        tensors.save(f"{layer}/odd/before/intensor0.bin", b"abcd")
    tensors.driver.finish()
    assert len(tensors.read().files) == 4
    assert tensors.read().references == {}


def test_a_first_file_that_cannot_be_written_leaves_the_next_one_whole(tensors: Round) -> None:
    tensors.save("0_Embedding/before/intensor0.bin", b"efgh")
    tensors.wait()
    (tensors.driver.data / ROUND / "2_A/before/intensor0.bin").mkdir(parents=True)
    for index in range(4):
        tensors.save(f"2_A/before/intensor{index}.bin", b"abcd")
    counters = tensors.driver.finish()
    assert (counters["write_failed"], counters["tensors_saved"]) == (1, 4)
    stored = tensors.read()
    assert {stored.resolve(f"2_A/before/intensor{index}.bin").data for index in (1, 2, 3)} == {b"abcd"}
    assert len(stored.references) == 2
    assert [row["Tensor Path"] == "N/A" for row in tensors.driver.rows()[1:]] == [True, False, False, False]


@pytest.mark.parametrize("damage", ["deleted", "changed", "a link", "a folder"])
def test_a_file_that_somebody_has_changed_is_not_referred_to(tensors: Round, tmp_path: Path, damage: str) -> None:
    tensors.save("2_A/before/intensor0.bin", b"abcd")
    tensors.wait()
    first = tensors.driver.data / ROUND / "2_A/before/intensor0.bin"
    content = first.read_bytes()
    first.unlink()
    if damage == "changed":
        first.write_bytes(content[:-1] + b"x")
    elif damage == "a link":
        (tmp_path / "elsewhere").write_bytes(content)
        first.symlink_to(tmp_path / "elsewhere")
    elif damage == "a folder":
        first.mkdir()
    tensors.save("2_A/before/intensor1.bin", b"abcd")
    tensors.driver.finish()
    second = StoredRound.read(tensors.driver.data / ROUND).files["2_A/before/intensor1.bin"]
    assert (second.data, second.reference) == (b"abcd", "")


A, B, C = (f"2_A/before/intensor{index}.bin" for index in range(3))


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("layouts", [(2, 2, 2), (2, 29, 2)])
def test_references_outlive_the_file_they_name(tensors: Round, level: int, layouts: tuple[int, int, int]) -> None:
    for path, layout in zip((A, B, C), layouts, strict=True):
        tensors.save(path, b"abcd", layout=layout)
    assert len(tensors.wait().references) == 2
    tensors.save(A, b"efgh", level=level)
    stored = tensors.wait()
    assert [stored.resolve(path).data for path in (A, B, C)] == [b"efgh", b"abcd", b"abcd"]
    assert [stored.files[path].format for path in (A, B, C)] == [str(layout) for layout in (2, *layouts[1:])]
    tensors.save(B, b"efgh", level=1)
    tensors.driver.finish()
    stored = tensors.read()
    assert [stored.resolve(path).data for path in (A, B, C)] == [b"efgh", b"efgh", b"abcd"]
    assert loose_ends(tensors.driver.data) == []


def test_a_replacement_that_fails_breaks_no_reference(tensors: Round) -> None:
    for path in (A, B):
        tensors.save(path, b"abcd")
    tensors.wait()
    folder = tensors.driver.data / ROUND / "2_A/before"
    (folder / "intensor1.bin").rename(folder / "kept")
    (folder / "intensor1.bin").mkdir()
    tensors.save(B, b"efgh")  # a reference that cannot be replaced
    assert tensors.driver.counters("idle")["write_failed"] == 1
    (folder / "intensor1.bin").rmdir()
    (folder / "kept").rename(folder / "intensor1.bin")
    tensors.save(A, b"ijkl")
    tensors.driver.finish()
    assert [tensors.read().resolve(path).data for path in (A, B)] == [b"ijkl", b"abcd"]


def test_rounds_that_were_forgotten(tensors: Round) -> None:
    """More rounds than are remembered go by before one is written to again."""
    for path in (A, B, C):
        tensors.save(path, b"abcd")
    for count in range(1, 80):
        Round(tensors.driver, f"0_1234/{count}").save(A, b"abcd")
    tensors.wait()
    tensors.save(A, b"efgh")
    stored = tensors.wait()
    assert [stored.resolve(path).data for path in (A, B, C)] == [b"efgh", b"abcd", b"abcd"]
    tensors.save(B, b"efgh")
    tensors.driver.finish()
    assert tensors.read().references == {B: reference_to(A)}


def test_a_folder_that_was_moved_away_and_back(tensors: Round) -> None:
    for path in (A, B):
        tensors.save(path, b"abcd")
    tensors.wait()
    data = tensors.driver.data
    data.rename(data.with_name("away"))
    for path in (B, C):
        tensors.save(path, b"abcd")
        tensors.wait()  # of two that are written side by side either may be the first
    stored = tensors.wait()
    assert stored.references == {C: reference_to(B)}
    data.rename(data.with_name("second"))
    data.with_name("away").rename(data)
    tensors.save(A, b"efgh", level=0)
    tensors.driver.finish()
    assert [tensors.read().resolve(path).data for path in (A, B)] == [b"efgh", b"abcd"]


@pytest.mark.parametrize("environment", [{}, {"ATBPROBE_QUEUE_BYTES": "3000"}, {"ATBPROBE_QUEUE_BYTES": "0"}])
@pytest.mark.parametrize("writers", ["1", "7"])
def test_many_threads(start: StartDriver, environment: dict[str, str], writers: str) -> None:
    driver = start(ATBPROBE_WRITERS=writers, **environment)
    threads, count, size = 6, 60, 700
    driver.ask(f"repeats {threads} {count} {size}")
    counters = driver.finish()
    assert counters["tensors_saved"] == threads * count
    assert counters["bytes_queued"] == 0
    stored = StoredRound.read(driver.own / "0")
    own = [index for index in range(count) if index % 5]
    for path in stored.files:
        data = stored.resolve(path).data
        name = int(path.rpartition("outtensor")[2].removesuffix(".bin"))
        assert data == bytes([data[0]]) * size
        assert path.startswith("97_") or data[0] == name % 7
    assert len(stored.files) == threads * len(own) + 3
    assert len(stored.references) > len(stored.files) / 2
    assert loose_ends(driver.data) == []


@dataclass(frozen=True)
class Save:
    path: str
    data: bytes
    dtype: int
    dims: str
    layout: int
    level: int
    then_wait: bool


FOLDERS = ["2_A/before", "2_A/0_B/before", "2_A/0_B/0_Kernel/before", "3_C/before"]
saves = st.builds(
    Save,
    st.builds("{}/intensor{}.bin".format, st.sampled_from(FOLDERS), st.sampled_from(["0", "1", "0_x"])),
    st.sampled_from([b"aaaa", b"bbbb", b""]),
    st.sampled_from([4, 4, 2]),
    st.sampled_from(["4", "4", "2,2"]),
    st.sampled_from([2, 2, 29]),
    st.sampled_from([1, 1, 1, 3, 0]),
    st.booleans(),
)


@pytest.fixture
def fresh_round(driver: Driver) -> Iterator[Callable[[], Round]]:
    count = iter(range(10**6))
    yield lambda: Round(driver, f"0_1234/{next(count)}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(saves, min_size=2, max_size=24))
def test_the_latest_bytes_of_every_path_are_found(fresh_round: Callable[[], Round], sequence: list[Save]) -> None:
    """After any saves, at any moment."""
    tensors = fresh_round()
    latest: dict[str, Save] = {}
    for save in sequence:
        tensors.save(
            save.path, save.data, level=save.level, dims=save.dims, dtype=save.dtype, layout=save.layout, tasks=TENSOR
        )
        latest[save.path] = save
        if save.then_wait:
            check_latest(tensors.wait(), latest)
    check_latest(tensors.wait(), latest)


def check_latest(stored: StoredRound, latest: dict[str, Save]) -> None:
    assert set(stored.files) == set(latest)
    for path, save in latest.items():
        home = stored.resolve(path)
        assert (home.data, home.dtype, home.dims) == (save.data, str(save.dtype), save.dims)
        assert stored.files[path].format == str(save.layout)


def test_statistics_of_a_reference_are_its_own(tensors: Round) -> None:
    data = np.array([1, 2], np.float32).tobytes()
    for path in (A, B):
        tensors.save(path, data, tasks=ALL, dims="2")
    tensors.driver.finish()
    first, second = tensors.driver.rows()
    assert (first["Mean"], second["Mean"]) == ("1.5", "1.5")
    assert Path(second["Tensor Path"]).name == "intensor1.bin"
