"""filter_level 1 and 2: the peer's references and what it leaves out, beside ours, which resolve and are complete."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from compared import Compared
from expected_files import Expected, read_expected
from library_run import BOTH, OURS, PEER, DiedError, Library, caller_of, run_model
from model_runs import EVERYTHING
from probed_host import NativeFile, Probed
from replay import read_record, replay
from stored_round import Stored, StoredRound, reference_to

pytestmark = pytest.mark.peer

RULES = {**EVERYTHING, "save_child": True}


@dataclass(frozen=True)
class References:
    """How many there are, and of those how many name no stored file."""

    total: int
    lost: int


def stored_rounds(place: Probed) -> dict[str, StoredRound]:
    """By `<device>_<pid>/<count>`."""
    return {str(path.relative_to(place.data)): StoredRound.read(path) for path in place.data.glob("*/*")}


def count_references(rounds: dict[str, StoredRound]) -> References:
    total = lost = 0
    for stored in rounds.values():
        homes = {reference_to(path) for path, file in stored.files.items() if not file.reference}
        total += len(stored.references)
        lost += sum(reference not in homes for reference in stored.references.values())
    return References(total, lost)


def check_all_there(tensors: list[Expected], rounds: dict[str, StoredRound]) -> None:
    """Every tensor is there, or stood for by a file with its bytes."""
    for tensor in tensors:
        process, count, path = tensor.path.split("/", 2)
        assert rounds[f"{process}/{count}"].resolve(path).data == tensor.data, tensor.path


@pytest.mark.parametrize(("options", "is_broken"), [([], True), (["--plain-names"], False)], ids=["named", "plain"])
def test_level_1_where_file_names_carry_the_parameters_names(
    tmp_path: Path, native_file: NativeFile, compared: Compared, options: list[str], is_broken: bool
) -> None:
    found: dict[Library, References] = {}
    for library in BOTH:
        expectation = tmp_path / library.name / "expected"
        place = library.place(tmp_path, native_file, 1)
        run_model(library, place, {**RULES, "filter_level": 1}, [*options, "--expect", str(expectation)])
        rounds = stored_rounds(place)
        found[library] = count_references(rounds)
        if library.is_ours:
            check_all_there(read_expected(expectation)[0], rounds)
    compared.notes.append(
        f"filter_level 1, {'named' if is_broken else 'plain'} files: {found[PEER].lost} of {found[PEER].total} "
        f"references of the peer name no file, {found[OURS].lost} of {found[OURS].total} here"
    )
    assert found[OURS].lost == 0
    assert found[OURS].total > 0
    assert found[PEER].total > 0
    assert (found[PEER].lost > 0) == is_broken


def is_kernel(directory: str) -> bool:
    return "Kernel" in directory.rpartition("/")[2]


def test_level_2_throws_on_an_operation_that_is_no_kernel(
    tmp_path: Path, native_file: NativeFile, compared: Compared
) -> None:
    """A host that goes on after the exceptions lacks tensors under the peer."""
    record = read_record("builtin")
    missing = {}
    exceptions = {}
    for library in BOTH:
        place = library.place(tmp_path, native_file, 1)
        library.take(place, {**RULES, "filter_level": 2})
        with caller_of(place) as host:
            saved = replay(host, record)
        expected = {
            f"{directory}/{side}/{name}"
            for (_, directory), files in saved.items()
            if not is_kernel(directory)
            for side, kept, names in (("before", "in", files.before), ("after", "out", files.after))
            for name in names
            if name.startswith(kept)
        }
        stored = {path: Stored.read(place.data / path) for path in place.files() if path.endswith(".bin")}
        kernels = {path for path in stored if is_kernel(path.rsplit("/", 2)[0])}
        # Only the peer writes a reference in place of a kernel's data.
        assert bool(kernels) != library.is_ours
        assert all(stored[path].reference for path in kernels)
        missing[library] = expected - stored.keys()
        exceptions[library] = host.exceptions
        assert stored.keys() - kernels <= expected
    compared.notes.append(
        f"filter_level 2: {exceptions[PEER]} exceptions came out of the peer, {len(missing[PEER])} of {len(expected)} "
        f"tensors that are no kernel's are missing there; {exceptions[OURS]} and {len(missing[OURS])} here"
    )
    assert (exceptions[OURS], missing[OURS]) == (0, set())
    assert exceptions[PEER] > 0
    assert missing[PEER]


def test_level_2_ends_a_host_that_expects_no_exception(tmp_path: Path, native_file: NativeFile) -> None:
    expectation = tmp_path / "expected"
    place = OURS.place(tmp_path, native_file, 1)
    run_model(OURS, place, {**RULES, "filter_level": 2}, ["--expect", str(expectation)])
    tensors = [tensor for tensor in read_expected(expectation)[0] if not is_kernel(tensor.dir)]
    check_all_there(tensors, stored_rounds(place))
    with pytest.raises(DiedError, match="standin_model: basic_string"):
        run_model(PEER, PEER.place(tmp_path, native_file, 1), {**RULES, "filter_level": 2})
