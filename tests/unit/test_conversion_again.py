"""Converting dumps: what is there already, what is in the way, and files that come whole or not at all."""

from __future__ import annotations

import errno
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atbprobe_rules.dump import conversion, converted_files
from atbprobe_rules.dump.conversion import convert
from atbprobe_rules.dump.conversion_plan import plan_conversion
from atbprobe_rules.dump.converted_array import FileFormat
from conversions import FORMATS, ROUND, files_below, read_all, run, small_dump
from dump_files import STATISTIC_HEADER, bin_file, put, reference_file


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return small_dump(tmp_path)


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_is_there_and_whole_is_left_alone(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    out = tmp_path / "out"
    written = run(dump, file_format, out).written
    before = {name: (out / name).stat().st_ino for name in files_below(out)}
    again = run(dump, file_format, out)
    assert (again.written, again.skipped) == (0, written)
    assert {name: (out / name).stat().st_ino for name in files_below(out)} == before


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("damage", ["cut", "gone", "other", "link", "empty", "garbage"])
def test_what_is_not_whole_is_made_again(dump: Path, tmp_path: Path, file_format: FileFormat, damage: str) -> None:
    out = tmp_path / "out"
    run(dump, file_format, out)
    expected = {name: (out / name).read_bytes() for name in files_below(out)}
    path = out / files_below(out)[0]
    time = path.stat().st_mtime_ns
    if damage == "gone":
        path.unlink()
    elif damage == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif damage == "other":
        path.write_bytes((out / files_below(out)[1]).read_bytes())
    else:
        path.write_bytes({"cut": path.read_bytes()[:-1], "empty": b"", "garbage": b"\xff" * 200}[damage])
    if damage not in ("gone", "other"):
        os.utime(path, ns=(time, time))
    assert run(dump, file_format, out).written == 1
    assert {name: (out / name).read_bytes() for name in files_below(out)} == expected
    assert not path.is_symlink()


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_tensor_that_has_changed_since_is_converted_again(
    dump: Path, tmp_path: Path, file_format: FileFormat
) -> None:
    """Also one that others refer to."""
    run(dump, file_format, tmp_path / "out")
    path = dump / ROUND / "2_Layer/before/intensor0.bin"
    time = path.stat().st_mtime_ns
    put(path, bin_file(np.zeros(6, np.float32).tobytes(), 0, "2,3"))
    os.utime(path, ns=(time + 10**9, time + 10**9))
    assert run(dump, file_format, tmp_path / "out").written == (2 if file_format is FileFormat.NPY else 1)


@pytest.mark.parametrize("file_format", FORMATS)
def test_an_interrupted_file_leaves_nothing(
    dump: Path, tmp_path: Path, file_format: FileFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(converted_files.os, "utime", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(dump, file_format, tmp_path / "out")
    assert files_below(tmp_path / "out") == []
    assert run(dump, file_format, tmp_path / "out").problems == []


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_a_killed_process_has_left_is_taken_away(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    run(dump, file_format, tmp_path / "out")
    expected = files_below(tmp_path / "out")
    path = tmp_path / "out" / expected[0]
    path.unlink()
    dead = put(path.with_name(f".{path.name}.{2**22 + 5}.atbprobe-convert"), "half")
    own = put(path.with_name(f".{path.name}.{os.getpid()}.atbprobe-convert"), "half")
    alive = put(path.with_name(f".{path.name}.1.atbprobe-convert"), "half")
    run(dump, file_format, tmp_path / "out")
    assert (dead.exists(), own.exists(), alive.exists()) == (False, False, True)
    alive.unlink()
    assert files_below(tmp_path / "out") == expected


def test_a_full_disk_ends_it(dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    with pytest.raises(OSError, match="No space left"):
        run(dump, FileFormat.NPY, tmp_path / "out")
    assert files_below(tmp_path / "out") == []


def test_a_folder_in_the_way(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "out/0_1234/0.npz").mkdir(parents=True)
    done = run(dump, FileFormat.NPZ, tmp_path / "out")
    assert [problem.reason for problem in done.problems] == ["this is a folder, where a file is to be"]
    assert done.written == 1


@pytest.mark.parametrize("file_format", FORMATS)
def test_damaged_tensors_are_left_out_and_told(dump: Path, tmp_path: Path, file_format: FileFormat) -> None:
    one = dump / ROUND
    put(one / "3_Cut/before/intensor0.bin", bin_file(b"\0" * 8, 0, "2")[:-1])
    put(one / "3_Odd/before/intensor0.bin", bin_file(b"\0" * 8, 0, "3"))
    put(one / "3_Lost/before/intensor0.bin", reference_file("9_outtensor0.bin"))
    gone = f"0_1234,0,Gone,Gone,4,input,0,float,nd,1,1,1,1,1,{one}/4_Gone/before/intensor0.bin\n"
    put(one / "statistic.csv", STATISTIC_HEADER + gone + "not a row\n")
    done = run(dump, file_format, tmp_path / "out")
    assert done.tensors == 4
    assert sorted(problem.path.relative_to(one).parts[0] for problem in done.problems) == [
        "3_Cut",
        "3_Lost",
        "3_Odd",
        "4_Gone",
        "statistic.csv",
    ]
    assert run(dump, file_format, tmp_path / "out").written == 0


@pytest.mark.parametrize("file_format", FORMATS)
def test_odd_names(tmp_path: Path, file_format: FileFormat) -> None:
    one = tmp_path / "odd" / ROUND
    names = ["注意", "a\udcffb", "a%FFb", "x" * 250, 'q"\n\\', "__metadata__"]
    for number, name in enumerate(names):
        put(one / f"{number}_{name}/before/intensor0.bin", bin_file(np.float32(number).tobytes()))
    put(one / "7_A/before" / f"intensor0_{'p' * 240}.bin", bin_file(np.float32(7).tobytes()))
    done = run(tmp_path / "odd", file_format, tmp_path / "out")
    assert (done.tensors, done.problems) == (7, [])
    if file_format is FileFormat.NPY:
        assert sorted(float(np.load(path)) for path in (tmp_path / "out").rglob("*.npy")) == [0, 1, 2, 3, 4, 5, 7]
        return
    arrays = read_all(tmp_path / f"out/0_1234/0.{file_format.value}")
    assert sorted(float(array) for array in arrays.values()) == [0, 1, 2, 3, 4, 5, 7]
    assert "1_a%FFb/before/intensor0" in arrays


def test_names_that_become_the_same_in_an_archive(tmp_path: Path) -> None:
    for number, name in enumerate(["1_a\udcff", "1_a%FF"]):
        put(tmp_path / f"data/0_1/0/{name}/before/intensor0.bin", bin_file(np.float32(number).tobytes()))
    run(tmp_path, FileFormat.NPZ, tmp_path / "x.npz")
    assert set(read_all(tmp_path / "x.npz")) == {"0_1/0/1_a%FF/before/intensor0", "0_1/0/1_a%FF/before/intensor0~2"}


def test_a_single_file_called_like_what_safetensors_keeps_for_itself(tmp_path: Path) -> None:
    path = put(tmp_path / "__metadata__.bin", bin_file(np.float32(1).tobytes()))
    run(path, FileFormat.SAFETENSORS, tmp_path / "x.safetensors")
    assert set(read_all(tmp_path / "x.safetensors")) == {"__metadata__~2"}


def test_the_same_dump_gives_the_same_bytes(dump: Path, tmp_path: Path) -> None:
    for file_format in FORMATS:
        for name in ("one", "two"):
            run(dump, file_format, tmp_path / name)
    assert files_below(tmp_path / "one") == files_below(tmp_path / "two")
    for name in files_below(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_progress_is_told_for_every_tensor(dump: Path, tmp_path: Path) -> None:
    put(dump / ROUND / "3_Cut/before/intensor0.bin", bin_file(b"\0" * 8, 0, "2")[:-1])
    for file_format in FORMATS:
        for _ in range(2):
            plan = plan_conversion([dump], file_format, tmp_path / "out")
            told: list[int] = []
            convert(plan, told.append)
            assert sum(told) == plan.source_count == 5


def test_many_tensors_need_few_descriptors(tmp_path: Path) -> None:
    """A mapping may hold one; a round may have thousands of tensors."""
    import resource

    data = bytes(1 << 18)
    for number in range(80):
        put(tmp_path / f"data/0_1/0/{number}_A/before/intensor0.bin", bin_file(data, 4, str(len(data))))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        for file_format in FORMATS:
            assert run(tmp_path, file_format, tmp_path / "out").tensors == 80
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_members_of_an_archive_are_stored_as_they_are(dump: Path, tmp_path: Path) -> None:
    run(dump / ROUND, FileFormat.NPZ, tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert archive.testzip() is None
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_file_that_changes_while_it_is_read(
    dump: Path, tmp_path: Path, file_format: FileFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of its archive go with it, as does a reference to it; the next round does not."""
    path = dump / ROUND / "2_Layer/before/intensor0.bin"
    is_converted = conversion.is_converted

    def changed_meanwhile(*arguments: Any) -> bool:
        answer = is_converted(*arguments)
        put(path, bin_file(np.zeros(6, np.float32).tobytes(), 0, "3,2"))
        return answer

    monkeypatch.setattr(conversion, "is_converted", changed_meanwhile)
    done = run(dump, file_format, tmp_path / "out")
    assert path in {problem.path for problem in done.problems}
    assert "0_1234/1" in "".join(files_below(tmp_path / "out"))
    assert not [name for name in files_below(tmp_path / "out") if "atbprobe-convert" in name]


@pytest.mark.parametrize("file_format", FORMATS)
def test_memory_is_that_of_a_block(tmp_path: Path, file_format: FileFormat) -> None:
    size = 64 << 20
    path = tmp_path / "intensor0.bin"
    with path.open("wb") as file:
        file.write(bin_file(b"", 27, str(size // 2)).replace(b"=0,0", b"=0,%d" % size).replace(b"h=0", b"h=%d" % size))
        file.truncate(file.tell() + size)
    tracemalloc.start()
    try:
        assert run(path, file_format, tmp_path / "out").tensors == 1
        assert tracemalloc.get_traced_memory()[1] < size // 2
    finally:
        tracemalloc.stop()
