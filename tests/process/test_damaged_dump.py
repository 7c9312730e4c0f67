"""A real dump with damage in it: every tensor is the right one or an error, and nothing is waited for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atbprobe_rules import DumpError, open_dump
from atbprobe_rules.dump.contents import round_contents

Damage = Callable[[Path, bytes], None]


def splice(at: int, cut: int, more: bytes) -> Damage:
    """Other bytes in place of some; a change in the header, since there is no checksum over the data."""

    def apply(path: Path, content: bytes) -> None:
        header = max(content.find(b"$End=1\n"), 1)
        place = at % header
        path.write_bytes(content[:place] + more + content[place + cut :])

    return apply


def become(kind: str) -> Damage:
    def apply(path: Path, content: bytes) -> None:
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "link":
            path.symlink_to("/dev/zero")
        elif kind == "loop":
            path.symlink_to(path.name)

    return apply


damages = st.one_of(
    st.builds(lambda at: lambda path, content: path.write_bytes(content[: at % len(content)]), st.integers(0, 9999)),
    st.builds(lambda more: lambda path, content: path.write_bytes(content + more), st.binary(min_size=1, max_size=99)),
    st.builds(splice, st.integers(0, 200), st.integers(0, 9), st.binary(max_size=9)),
    st.sampled_from(["gone", "folder", "pipe", "link", "loop"]).map(become),
)


@pytest.fixture(scope="module")
def whole(real_dump: Path) -> tuple[Path, dict[str, bytes]]:
    """The folder of a round, and what its tensors are."""
    one = next(iter(open_dump(real_dump).rounds))
    return one.path, {tensor.full_name: tensor.load().stored.tobytes() for tensor in one.tensors}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(data=st.data())
def test_a_tensor_is_right_or_an_error(
    tmp_path: Path, whole: tuple[Path, dict[str, bytes]], data: st.DataObject
) -> None:
    folder, expected = whole
    copy = tmp_path / "round"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, copy_function=os.link)
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    for number in data.draw(st.lists(st.integers(0, len(files) - 1), min_size=1, max_size=4, unique=True)):
        content = files[number].read_bytes()
        files[number].unlink()  # the link, not the file of the dump that others read
        files[number].write_bytes(content)
        data.draw(damages)(files[number], content)

    (one,) = open_dump(copy).rounds
    round_contents(one)
    failed = 0
    for tensor in one.tensors:
        try:
            loaded = tensor.load()
            assert loaded.array.tobytes() == expected.get(tensor.full_name), tensor
        except DumpError:
            failed += 1
    assert len(one.tensors) - failed >= len(expected) / 2 or one.problems
