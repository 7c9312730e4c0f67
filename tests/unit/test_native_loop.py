"""The native loop against numpy, for every type; and what it takes of files that are not what they should be."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atbprobe_rules.compare.metrics import metrics_of
from atbprobe_rules.compare.native_loop import SmallPair, add_files, add_small_files
from atbprobe_rules.compare.pair_sums import PairSums
from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import ELEMENT_TYPES, ElementType
from atbprobe_rules.dump.tensor import Tensor
from compared_arrays import compare_arrays
from damaged_files import damage
from dump_files import bin_file, put

one_folder_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
READABLE = [kind for kind in ELEMENT_TYPES.values() if kind.is_readable]
SPECIAL = {
    "float": [0x7F800000, 0xFF800000, 0x7FC00001, 0x80000000, 0, 1, 0x7F7FFFFF],
    "float16": [0x7C00, 0xFC00, 0x7E01, 0x8000, 0, 1, 0x7BFF],
    "bf16": [0x7F80, 0xFF80, 0x7FC1, 0x8000, 0, 1],
    "double": [0x7FF << 52, 0xFFF << 52, (0x7FF << 52) + 1, 1 << 63, 0, 1],
}
PLAIN = {*SPECIAL, "bool", "complex32", "complex64", "complex128"}
PLAIN |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
SIZES = [0, 1, 3, 15, 16, 17, 2047, 2048, 2049, 4100]


def values_of(kind: ElementType, size: int, data: st.DataObject) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of two tensors; of the usual types mostly ordinary numbers, with special ones here and there."""
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    width = max(kind.bits // 8, 1)
    if kind.name in SPECIAL:
        numbers = generator.standard_normal(size)
        golden = (
            (numbers.astype(np.float32).view(np.uint32) >> 16).astype("<u2")
            if kind.name == "bf16"
            else numbers.astype(kind.numpy_name).view(f"<u{width}")
        )
        target = golden.copy()
        for array in (golden, target):
            for place in data.draw(st.lists(st.integers(0, size - 1), max_size=6)) if size else []:
                array[place] = data.draw(st.sampled_from(SPECIAL[kind.name]))
        return golden.view(np.uint8), target.view(np.uint8)
    packed = kind.can_be_packed and data.draw(st.booleans())
    golden = generator.integers(0, 256, kind.packed_bytes(size) if packed else size * width, np.uint8)
    target = golden.copy()
    for place in data.draw(st.lists(st.integers(0, golden.size - 1), max_size=6)) if golden.size else []:
        target[place] = data.draw(st.integers(0, 255))
    return golden, target


def small_pair(golden: Path, target: Path) -> SmallPair | None:
    [found] = add_small_files([(str(golden), str(target))])
    return found


def fields_of(found: Any) -> dict[str, Any]:
    return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}


def by_numpy(golden: Tensor, target: Tensor) -> dict[str, Any]:
    return fields_of(compare_arrays(golden.elements, target.elements))


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    found, expected = dict(found), dict(expected)
    for side in ("golden", "target"):
        assert_same_numbers(fields_of(found.pop(side)), fields_of(expected.pop(side)))
    assert_same_numbers(found, expected)


def assert_same_numbers(found: dict[str, Any], expected: dict[str, Any]) -> None:
    undefined = {name for name, value in expected.items() if value is None}
    assert {name for name, value in found.items() if value is None} == undefined
    for name in expected.keys() - undefined:
        assert found[name] == pytest.approx(expected[name], rel=1e-11, abs=1e-12, nan_ok=True), name


@settings(one_folder_for_all_examples, max_examples=25)
@pytest.mark.parametrize("kind", READABLE, ids=lambda kind: kind.name)
@given(data=st.data())
def test_it_gives_what_numpy_gives(tmp_path: Path, kind: ElementType, data: st.DataObject) -> None:
    size = data.draw(st.sampled_from(SIZES))
    paths = [tmp_path / side for side in ("golden", "target")]
    for path, content in zip(paths, values_of(kind, size, data), strict=True):
        put(path, bin_file(content.tobytes(), kind.number, str(size)))
    golden, target = (Tensor.open(path) for path in paths)
    with np.errstate(all="ignore"):
        expected = by_numpy(golden, target)
    sums = PairSums()
    add_files(sums, golden, target)
    large = metrics_of(sums, is_one_type=True, is_complex=kind.is_complex)
    if kind.is_viewed or kind.name == "complex32":
        expected["identical"] = paths[0].read_bytes() == paths[1].read_bytes()
    assert_same(fields_of(large), expected)
    small = small_pair(*paths)
    assert (small is not None) == (kind.name in PLAIN)
    if small is not None:
        assert (small.element_type, small.shape) == (kind, (size,))
        assert bytes(small.sums) == bytes(sums)


def test_large_files_are_read_in_parts(tmp_path: Path) -> None:
    """Longer than what is read at once, and with padding behind the elements of the shape."""
    values = np.random.default_rng(1).standard_normal(500_001).astype(np.float16)
    other = values.copy()
    other[-1] += np.float16(3)
    paths = [
        put(tmp_path / str(number), bin_file(array.tobytes(), 1, "5")) for number, array in enumerate((values, other))
    ]
    golden, target = (Tensor.open(path) for path in paths)
    sums = PairSums()
    add_files(sums, golden, target)
    assert_same(fields_of(metrics_of(sums, is_one_type=True, is_complex=False)), by_numpy(golden, target))
    assert sums.differing_blocks == 1
    assert small_pair(*paths) is None


@one_folder_for_all_examples
@given(
    golden=st.lists(damage, max_size=2), target=st.lists(damage, max_size=2), shape=st.sampled_from(["2,3", "6", ""])
)
def test_small_files_are_taken_if_and_only_if_they_are_whole_and_alike(
    tmp_path: Path, golden: list, target: list, shape: str
) -> None:
    content = np.arange(6 if shape else 1, dtype=np.float32).tobytes()
    paths = []
    for side, damages in (("golden", golden), ("target", target)):
        file = bin_file(content, 0, shape)
        for change in damages:
            file = change(file) or b"\0"
        paths.append(put(tmp_path / side, file))
    found = small_pair(*paths)
    try:
        headers = [BinFile.open(path).header for path in paths]
        tensors = [Tensor.open(path) for path in paths]
        is_whole = all(tensor.element_type.is_readable and tensor.nbytes >= tensor.size * 4 for tensor in tensors)
    except DumpError:
        assert found is None
        return
    alike = len({(header.dtype, header.shape, header.data_bytes) for header in headers}) == 1
    if found is None:
        assert not (is_whole and alike and headers == [headers[0]] * 2 and headers[0].dtype == 0)
        return
    assert is_whole
    assert alike
    assert (found.element_type.number, found.shape) == (headers[0].dtype, headers[0].shape)
    sums = PairSums()
    add_files(sums, *tensors)
    assert bytes(found.sums) == bytes(sums)


def test_links_pipes_and_names_that_are_none_are_not_taken(tmp_path: Path) -> None:
    whole = put(tmp_path / "whole", bin_file(b"1234", 0, "1"))
    (tmp_path / "link").symlink_to(whole)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "nothing", "whole\0", "a\0b"):
        assert small_pair(whole, tmp_path / name) is None
        assert small_pair(tmp_path / name, whole) is None
    assert small_pair(whole, whole) is not None


def test_each_of_many_pairs_has_its_own_answer(tmp_path: Path) -> None:
    files = [str(put(tmp_path / str(n), bin_file(np.full(9, n, np.float32).tobytes(), 0, "3,3"))) for n in range(5)]
    pairs = [(files[0], files[n]) for n in range(5)]
    pairs[2:2] = [(files[0], str(tmp_path / "nothing"))]
    found = add_small_files(pairs)
    assert [None if pair is None else pair.sums.largest_absolute for pair in found] == [0, 1, None, 2, 3, 4]
    assert add_small_files([]) == []


def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [put(tmp_path / name, bin_file(b"12345678", 0, "2")) for name in ("golden", "target")]
    golden, target = (Tensor.open(path) for path in paths)

    @contextmanager
    def opened(file: BinFile) -> Iterator[int]:
        """Golden as it is; target only for writing, or cut short meanwhile."""
        descriptor = os.open(file.path, flags if file.path == paths[1] else os.O_RDONLY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    monkeypatch.setattr(BinFile, "opened", opened)
    flags = os.O_WRONLY
    with pytest.raises(DumpError, match="Bad file descriptor") as refused:
        add_files(PairSums(), golden, target)
    assert (refused.value.path, refused.value.offset) == (paths[1], target.home.header.length)
    flags = os.O_RDONLY
    os.truncate(paths[1], paths[1].stat().st_size - 3)
    with pytest.raises(DumpError, match="cut short") as refused:
        add_files(PairSums(), golden, target)
    assert (refused.value.path, refused.value.offset) == (paths[1], target.home.header.length + 5)


def test_every_version_of_the_loops_gives_the_same(native_file: Callable[[str], Path]) -> None:
    """Not only the one that this machine would choose."""
    done = subprocess.run([native_file("double_blocks_driver")], capture_output=True, check=True, timeout=100)
    flags = set(re.findall(r"\b(?:avx2|avx512bw)\b", Path("/proc/cpuinfo").read_text()))
    assert json.loads(done.stdout) == {"versions": 1 + len(flags), "wrong": 0}
