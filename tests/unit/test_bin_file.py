"""A .bin is read as it was written, or not at all: the header, the size, and files that are something else."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import atbprobe_rules
from atbprobe_rules import DumpError
from atbprobe_rules.dump.bin_file import BinFile
from damaged_files import damage
from dump_files import bin_file, put, reference_file

WHOLE = bin_file(np.arange(6, dtype=np.float32).tobytes(), 0, "2,3")
HEADER = len(WHOLE) - 24
one_folder_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)


def refusal(path: Path) -> DumpError:
    with pytest.raises(DumpError) as caught:
        np.asarray(atbprobe_rules.load(path))
    assert caught.value.path == path
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("content", "offset", "reason"),
    [
        (WHOLE[:-1], len(WHOLE) - 1, "ends after 23 of 24 bytes"),
        (WHOLE + WHOLE, len(WHOLE), "bytes follow the data"),
        (WHOLE + b"\0", len(WHOLE), "1 bytes follow the data"),
        (WHOLE.replace(b"dims", b"scale=3\ndims"), WHOLE.index(b"dims"), "unknown attribute 'scale'"),
        (WHOLE.replace(b"format=2\n", b""), WHOLE.index(b"format"), "dtype stands where format belongs"),
        (WHOLE.replace(b"Count=1", b"Count=2"), WHOLE.index(b"Count=1") + 6, "$Object.Count is '2'"),
        (WHOLE.replace(b"=1.0", b"=2.0"), 9, "no version '2.0'"),
        (WHOLE.replace(b"dims=2,3", b"dims=2,"), WHOLE.index(b"2,3"), "no shape"),
        (WHOLE.replace(b"dims=2,3", b"dims=2,-3"), WHOLE.index(b"2,3"), "no shape"),
        (WHOLE.replace(b"dims=2,3", b"dims=" + b"1," * 40 + b"6"), WHOLE.index(b"2,3"), "41 dimensions"),
        (WHOLE.replace(b"dtype=0", b"dtype=x"), WHOLE.index(b"dtype=") + 6, "no number"),
        (WHOLE.replace(b"data=0,24", b"data=0,25"), WHOLE.index(b"0,24"), "not '0,24'"),
        (WHOLE.replace(b"24", b"1000000000000000000"), HEADER + 24 + 34, "ends after 24 of 1,000,000,000,000,000,000"),
        (WHOLE.replace(b"24", b"9" * 40), WHOLE.index(b"24"), "no number of bytes"),
        (WHOLE.replace(b"$End=1", b"$End=2"), WHOLE.index(b"$End") + 5, "$End is '2'"),
        (WHOLE[:50], 50, "ends within its header"),
        (b"", 0, "the file is empty"),
        (b"$Ver", 4, "ends within its header"),
        (b"\x93NUMPY\x01\x00", 0, "no tensor file"),
        (b"$Version=1.0\n" + b"x" * 100_000, 13, "no header ends within"),
        (reference_file("").replace(b"Length=0", b"Length=9"), 44, "which has no data"),
        (reference_file(""), len(reference_file("")) - 8, "the reference is empty"),
        (reference_file("2_outtensor0.bin") + b"\0\0\0\0", len(reference_file("2_outtensor0.bin")), "follow the data"),
    ],
)  # fmt: skip
def test_what_is_no_tensor_file_is_refused_with_its_place(
    tmp_path: Path, content: bytes, offset: int, reason: str
) -> None:
    error = refusal(put(tmp_path / "intensor0.bin", content))
    assert reason in error.reason
    assert error.offset == offset


@pytest.mark.parametrize(
    ("dtype", "dims", "size"), [(0, "2,3", 23), (0, "2,4", 24), (1, "2,3", 24), (29, "9", 4), (38, "4", 3), (0, "", 0)]
)
def test_data_of_another_size_than_the_shape_are_refused(tmp_path: Path, dtype: int, dims: str, size: int) -> None:
    path = put(tmp_path / "intensor0.bin", bin_file(b"\1" * size, dtype, dims))
    assert "bytes of data are no" in refusal(path).reason
    assert atbprobe_rules.load(path).nbytes == size


@pytest.mark.parametrize("dims", ["0,9999999999999999999", "9223372036854775807,0,9223372036854775807"])
def test_a_shape_that_numpy_cannot_have_is_refused(tmp_path: Path, dims: str) -> None:
    assert "no array of shape" in refusal(put(tmp_path / "intensor0.bin", bin_file(b"", 0, dims))).reason


@pytest.mark.parametrize("dtype", [13, 99, -1])
def test_of_an_unknown_type_the_bytes_can_be_had(tmp_path: Path, dtype: int) -> None:
    path = put(tmp_path / "intensor0.bin", bin_file(b"abc", dtype, "3"))
    assert "cannot be read" in refusal(path).reason
    assert atbprobe_rules.load(path).stored.tobytes() == b"abc"


def independent_reading(content: bytes) -> np.ndarray | None:
    """What a file of plain floats says, by one pattern over all of it."""
    match = re.fullmatch(
        rb"\$Version=1\.0\n\$Object\.Count=1\n\$Object\.Length=([0-9]+)\nformat=-?[0-9]+\ndtype=0\n"
        rb"dims=([0-9,]*)\n\$Object\.data=0,\1\n\$End=1\n(.*)",
        content,
        re.DOTALL,
    )
    if match is None or len(match[3]) != int(match[1]):
        return None
    shape = [int(size) for size in match[2].split(b",") if size]
    return np.frombuffer(match[3], np.float32).reshape(shape)


@one_folder_for_all_examples
@given(damages=st.lists(damage, min_size=1, max_size=3))
def test_a_damaged_file_is_an_error_or_says_just_that(tmp_path: Path, damages: list) -> None:
    """The format has no checksum: a digit that became another one is what the file says now."""
    content = WHOLE
    for change in damages:
        content = change(content) or b"\0"
    path = put(tmp_path / "intensor0.bin", content)
    try:
        read = atbprobe_rules.load(path).array
    except DumpError:
        return
    expected = independent_reading(content)
    if re.search(rb"\ndtype=0\n", content):
        assert expected is not None
        assert read.tobytes() == expected.tobytes()
        assert read.shape == expected.shape
    else:
        assert read.nbytes == 24


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_cut_short_anywhere_is_an_error(tmp_path: Path, length: int) -> None:
    error = refusal(put(tmp_path / "intensor0.bin", WHOLE[:length]))
    assert error.reason.startswith("the file ")
    assert error.offset == length


@pytest.mark.parametrize("name", ["a folder", "a pipe", "a device or a socket"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "intensor0.bin"
    if name == "a folder":
        path.mkdir()
    elif name == "a pipe":
        os.mkfifo(path)
    else:
        path = Path("/dev/zero")
    assert name in refusal(path).reason


def test_a_link_is_followed_only_for_a_person(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", WHOLE)
    link = tmp_path / "intensor0.bin"
    link.symlink_to("elsewhere")
    assert atbprobe_rules.load(link).shape == (2, 3)
    with pytest.raises(DumpError, match="symbolic link"):
        BinFile.open(link, follow_link=False)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="null"):
        BinFile.open(tmp_path / "a\0b")
    with pytest.raises(FileNotFoundError):
        atbprobe_rules.load(tmp_path / "nothing.bin")


@pytest.mark.parametrize("change", ["replaced", "cut", "appended"])
def test_a_file_that_changes_between_header_and_data(tmp_path: Path, change: str) -> None:
    path = put(tmp_path / "intensor0.bin", WHOLE)
    tensor = atbprobe_rules.load(path)
    if change == "replaced":
        put(tmp_path / "new", WHOLE[:-1] + b"\1").replace(path)
    elif change == "cut":
        os.truncate(path, len(WHOLE) - 4)
    else:
        put(path, WHOLE + b"\0")
    for read in (lambda: tensor.array, lambda: list(tensor.blocks())):
        with pytest.raises(DumpError, match="replaced or changed"):
            read()


def test_a_huge_file_with_holes_costs_no_memory(tmp_path: Path) -> None:
    size = 1 << 40
    header = bin_file(b"", 0, str(size // 4)).replace(b"Length=0", b"Length=%d" % size)
    path = put(tmp_path / "intensor0.bin", header.replace(b"data=0,0", b"data=0,%d" % size))
    os.truncate(path, path.stat().st_size + size)
    tensor = atbprobe_rules.load(path)
    assert tensor.nbytes == size
    first = next(tensor.blocks())
    assert first.nbytes == 4 << 20
    assert not first.any()


@pytest.mark.parametrize("padding", range(9))
def test_data_are_mapped_where_they_lie_aligned_and_aligned_anyway(tmp_path: Path, padding: int) -> None:
    dims = ",".join(["1"] * padding + ["3"])
    path = put(tmp_path / "intensor0.bin", bin_file(np.array([1.5, 2.5, 3.5]).tobytes(), 11, dims))
    array = atbprobe_rules.load(path).array
    assert array.flags.aligned
    assert not array.flags.writeable
    assert array.ravel().tolist() == [1.5, 2.5, 3.5]
    assert array.shape == (1,) * padding + (3,)
