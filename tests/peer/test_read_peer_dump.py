"""Dumps of the published probe are read like our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from library_run import BOTH, Library, run_model
from model_runs import EVERYTHING
from probed_host import NativeFile

from atbprobe_rules import Dump, DumpError, Tensor, open_dump
from atbprobe_rules.dump.op import StoredTensor

pytestmark = pytest.mark.peer

RULES = {**EVERYTHING, "save_child": True}


def dump_of(library: Library, folder: Path, native_file: NativeFile, level: int) -> Dump:
    place = library.place(folder, native_file, 1)
    run_model(library, place, {**RULES, "task": "all", "filter_level": level}, ["--plain-names"])
    return open_dump(place.folder)


def arrays_of(dump: Dump) -> dict[str, bytes]:
    return {place_of(tensor): content_of(tensor.load()) for tensor in dump.tensors}


def place_of(tensor: StoredTensor) -> str:
    return f"{tensor.op.round.number}/{tensor.full_name}"


def content_of(tensor: Tensor) -> bytes:
    return f"{tensor.dtype} {tensor.shape} ".encode() + tensor.stored.tobytes()


def test_both_dumps_are_the_same(tmp_path: Path, native_file: NativeFile) -> None:
    ours, theirs = (dump_of(library, tmp_path, native_file, 0) for library in BOTH)
    assert len(arrays_of(ours)) > 100
    assert arrays_of(ours) == arrays_of(theirs)
    for one in theirs.rounds:
        assert one.problems == ()
        for tensor in one.tensors:
            if tensor.row is not None and isinstance(tensor.row.max, float):
                values = tensor.load().array.astype(np.float64)
                assert tensor.row.max == pytest.approx(values.max(), abs=1e-5, rel=1e-5)


def test_a_reference_of_theirs_is_the_tensor_or_an_error(tmp_path: Path, native_file: NativeFile) -> None:
    ours, theirs = (dump_of(library, tmp_path, native_file, 1) for library in BOTH)
    expected = arrays_of(ours)
    resolved = failed = 0
    for tensor in theirs.tensors:
        try:
            loaded = tensor.load()
        except DumpError:
            failed += 1
            continue
        resolved += loaded.is_reference
        assert content_of(loaded) == expected[place_of(tensor)], tensor
    assert resolved > 0
