"""From a reference to the file of the same round that has its bytes.

A reference is `<id path>_<file name>`, so ids choose among the folders that are there: it cannot lead out of the
round's folder. Links are not followed, and what it leads to must be whole, of the same type and shape, and no
reference itself, so there are no loops.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from atbprobe_rules.dump.bin_file import BinFile
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.stored_names import OpComponent, ProcessName, TensorName, round_number

_REFERENCE = re.compile(r"((?:[0-9]+_)+)((?:in|out)tensor[^/\0]*\.bin)", re.DOTALL)


def resolve_reference(file: BinFile, round_folder: Path | None = None) -> BinFile:
    """Return the file that a reference names; raises DumpError, about the reference, if that is not there.

    Without `round_folder` it is looked for among the folders above the file.
    """
    assert file.header.reference is not None
    reference = file.header.reference
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise DumpError(file.path, f"the reference {reference[:300]!r} is no id path with a file's name")
    ids = [int(part[:20]) for part in match[1].split("_")[:-1]]
    folders = [round_folder] if round_folder is not None else list(_possible_rounds(file.path))
    for folder in folders:
        found = list(_named_files(folder, ids, match[2]))
        if len(found) > 1:
            raise DumpError(file.path, f"the reference {reference!r} could be {found[0]} or {found[1]}")
        if found:
            return _checked(file, found[0])
    where = f"in {folders[0]}" if len(folders) == 1 else "in its round, or the file is in no dump"
    raise DumpError(file.path, f"there is no {reference!r} {where}, which is to have its data")


def _checked(file: BinFile, found: Path) -> BinFile:
    try:
        home = BinFile.open(found, follow_link=False)
    except OSError as error:
        raise DumpError(file.path, f"the file that has its data, {found}: {error.strerror}") from error
    if home.header.reference is not None:
        raise DumpError(file.path, f"it refers to {found}, which is a reference itself")
    if (home.header.dtype, home.header.shape) != (file.header.dtype, file.header.shape):
        raise DumpError(file.path, f"it refers to {found}, which is of another type or shape")
    return home


def _possible_rounds(path: Path) -> Iterator[Path]:
    """The folders above a file that may be its round's, the likeliest first.

    That is one with a number for a name in a folder called like a process; a copy of a round may be called anything
    but like an operation.
    """
    folders = list(path.absolute().parents)[2:]
    certain = [
        folder
        for folder in folders
        if round_number(folder.name) is not None and ProcessName.of_folder(folder.parent.name) is not None
    ]
    yield from certain[:1] or (folder for folder in folders if OpComponent.of_folder(folder.name).id is None)


def _named_files(round_folder: Path, ids: list[int], name: str) -> Iterator[Path]:
    folders = [round_folder]
    for id_number in ids:
        folders = [child for folder in folders for child in _children(folder, id_number)]
    side = "before" if name.startswith("in") else "after"
    if TensorName.of_file(side, name) is None:
        return
    for folder in folders:
        if os.path.lexists(folder / side / name):
            yield folder / side / name


def _children(folder: Path, id_number: int) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                folder / entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and OpComponent.of_folder(entry.name).id == id_number
            ]
    except OSError:
        return []
