"""Which files a conversion makes, and from which tensors: known before the first is written, and the same each time.

Below a folder, `npy` makes a file for each tensor, `<device>_<pid>/<round>/<op>/…/before/intensor0.npy`; `npz` and
`safetensors` one for each round, `<device>_<pid>/<round>.npz`, whose names are the rest of that without the ending. A
file to write to, `all.npz`, gets all of it, its names with device and round unless a single round was given. Single
.bin files keep their own name alone.

Where two would get the same name, the later one's has `~2` behind it (`~3`, …).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atbprobe_rules.dump.converted_array import FileFormat
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.open_dump import open_dump
from atbprobe_rules.dump.tensor import Tensor
from atbprobe_rules.dump.tree import Round

SUFFIX = ".bin"


@dataclass(frozen=True)
class Source:
    """A .bin to convert, and what it is called in the result."""

    path: Path
    name: str
    round_folder: Path | None = None

    def load(self) -> Tensor:
        """Open it; raises DumpError or OSError."""
        if self.round_folder is None:
            return Tensor.open(self.path)
        return Tensor.open(self.path, round_folder=self.round_folder, follow_link=False)


@dataclass
class Target:
    """A file to make, from one tensor or, for archives, several."""

    path: Path
    sources: list[Source]


@dataclass
class ConversionPlan:
    """The files to make, in order, and what could not be read of the dumps."""

    file_format: FileFormat
    targets: list[Target] = field(default_factory=list)
    problems: list[DumpError] = field(default_factory=list)

    @property
    def source_count(self) -> int:
        return sum(len(target.sources) for target in self.targets)


def plan_conversion(paths: Iterable[Path], file_format: FileFormat, out: Path) -> ConversionPlan:
    """Plan the conversion of .bin files, dumps and parts of dumps to a folder or file.

    `out` is a file if it ends as the format's files do and is no folder. Raises DumpError for a path that is no dump,
    OSError if one cannot be read, and ValueError if `out` is one .npy for several tensors.
    """
    paths = list(paths)
    plan = ConversionPlan(file_format)
    is_file = out.suffix == f".{file_format.value}" and not out.is_dir()
    is_archive = file_format is not FileFormat.NPY
    names = _Names()
    seen: set[str] = set()
    one_file = Target(out, [])
    for group in _groups(paths, plan.problems):
        sources = [source for source in group.sources if not _was_seen(source.path, seen)]
        if is_archive and is_file:
            one_file.sources += [_renamed(source, names.unique(group.prefixed(source.name))) for source in sources]
        elif is_archive and sources:
            place = names.unique(group.archive_name(sources[0].name))
            plan.targets.append(Target(out / f"{place}.{file_format.value}", sources))
        else:
            for source in sources:
                place = names.unique(group.prefixed(source.name) if group.folder else source.name)
                plan.targets.append(Target(out if is_file else out / f"{place}.{file_format.value}", [source]))
    if is_archive and is_file and one_file.sources:
        plan.targets.append(one_file)
    if is_file and len(plan.targets) > 1:
        raise ValueError(f"one .npy holds one tensor, and there are {len(plan.targets):,}: name a folder for them")
    return plan


@dataclass(frozen=True)
class _Group:
    """The tensors of a round, `folder` being `<device>_<pid>/<round>`; or a single file, and it is empty."""

    folder: str
    is_alone: bool
    sources: list[Source]

    def prefixed(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder and not self.is_alone else name

    def archive_name(self, name: str) -> str:
        return self.folder or name


class _Names:
    """Names that have been given away."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name}~{number}"
        self._taken.add(candidate)
        return candidate


def _groups(paths: Sequence[Path], problems: list[DumpError]) -> Iterator[_Group]:
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise FileNotFoundError(2, os.strerror(2), str(path))
            yield _Group("", False, [Source(path, path.name.removesuffix(SUFFIX))])
            continue
        dump = open_dump(path)
        for one in dump.rounds:
            problems += one.problems
            folder = f"{one.path.parent.name}/{one.path.name}"
            is_alone = len(paths) == 1 and one.device.only_round is not None
            yield _Group(folder, is_alone, list(_sources(one, problems)))


def _sources(one: Round, problems: list[DumpError]) -> Iterator[Source]:
    for tensor in one.tensors:
        if tensor.path is not None:
            yield Source(tensor.path, str(tensor.path.relative_to(one.path)).removesuffix(SUFFIX), one.path)
        elif tensor.is_missing:
            problems.append(DumpError(one.path / tensor.full_name, "the file is missing"))


def _was_seen(path: Path, seen: set[str]) -> bool:
    place = os.path.realpath(path)
    if place in seen:
        return True
    seen.add(place)
    return False


def _renamed(source: Source, name: str) -> Source:
    return Source(source.path, name, source.round_folder)
