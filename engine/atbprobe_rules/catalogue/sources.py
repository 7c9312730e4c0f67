"""Which kind of source a path is, and the catalogue of all of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from atbprobe_rules.catalogue.dumps import add_dump, add_info_folder, add_statistics
from atbprobe_rules.catalogue.graphs import add_graph_file
from atbprobe_rules.catalogue.ops import Catalogue, CatalogueBuilder, TensorSize, execution_of
from atbprobe_rules.dump.open_dump import open_dump
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.op_lines import OpLines, read_op_lines

STANDARD_INPUT = "-"
_STATISTIC_HEADER = b"Device and PID,"
_MOST_START = 4096


class SourceError(AtbprobeError):
    """A source of ops cannot be read, or is none."""


def output_folder() -> Path:
    """Return where the probe writes for processes of this environment: what is read when no source is named."""
    return Path(os.environ.get("ATB_OUTPUT_DIR") or ".") / "atb_dump_data"


def read_catalogue(sources: Sequence[str | Path]) -> Catalogue:
    """Read files and folders, and ``-`` as a list on standard input.

    A folder is a dump (as `open_dump` takes them), or one with graphs: info, or one of those in it. A file is a graph,
    a statistic.csv, what ``ops --json`` printed, or a list as for ``explain --ops``. Raises SourceError, and what the
    readers of these raise.
    """
    builder = CatalogueBuilder()
    for source in sources:
        builder.add_source(str(source))
        if str(source) == STANDARD_INPUT:
            _add_list(builder, sys.stdin.buffer)
        elif Path(source).is_dir():
            _add_folder(builder, Path(source))
        else:
            _add_file(builder, Path(source))
    return builder.build()


def _add_folder(builder: CatalogueBuilder, folder: Path) -> None:
    root = folder / "atb_dump_data" if (folder / "atb_dump_data").is_dir() else folder
    has_info, has_data = (root / "info").is_dir(), (root / "data").is_dir()
    if has_info:
        add_info_folder(builder, root / "info")
    if has_data:
        add_dump(builder, open_dump(root))
    if has_info or has_data:
        return
    if "info" in (folder.absolute().name, *(parent.name for parent in list(folder.absolute().parents)[:2])):
        if add_info_folder(builder, folder) == 0:
            raise SourceError(f"{folder}: there is no graph in this folder")
        return
    add_dump(builder, open_dump(folder))


def _add_file(builder: CatalogueBuilder, path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(_MOST_START)
        file.seek(0)
        if start.startswith(_STATISTIC_HEADER):
            add_statistics(builder, path)
        elif start.lstrip()[:1] == b"{":
            if _is_listing(start):
                for number, line in enumerate(file, 1):
                    _add_listed(builder, path, number, line)
            else:
                add_graph_file(builder, path, file.read())
        else:
            _add_list(builder, file)


def _add_list(builder: CatalogueBuilder, file: BinaryIO) -> None:
    no_paths = 0
    for lines in read_op_lines(file):
        no_paths += _add_lines(builder, lines)
    if no_paths:
        builder.notes.append(f"lines of the list that are no op paths: {no_paths:,}")


def _add_lines(builder: CatalogueBuilder, lines: OpLines) -> int:
    text = lines.dirs.text.tobytes()
    places = zip(lines.dirs.begin.tolist(), lines.dirs.end.tolist(), strict=True)
    directories = (text[begin:end] for begin, end in places)
    return sum(builder.add_directory(directory) is None and bool(directory) for directory in directories)


def _is_listing(start: bytes) -> bool:
    """Whether the first line is an object of ``ops --json``, which a graph never is."""
    line = start.partition(b"\n")[0]
    return b'"id_path"' in line and b'"dir"' in line


def _add_listed(builder: CatalogueBuilder, path: Path, number: int, line: bytes) -> None:
    try:
        entry = json.loads(line)
        directory, round_number = entry["dir"], entry["round"]
        op = builder.add_directory(directory.encode("utf-8", "surrogateescape"))
        if op is None or not isinstance(round_number, int | None):
            raise ValueError("it has no op path or no round")
        execution = execution_of(op, round_number)
        execution.inputs = [_listed_tensor(index, tensor) for index, tensor in enumerate(entry["inputs"])]
        execution.outputs = [_listed_tensor(index, tensor) for index, tensor in enumerate(entry["outputs"])]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{path}: line {number} is no op as `ops --json` prints them: {error}") from None


def _listed_tensor(index: int, tensor: dict[str, Any]) -> TensorSize:
    shape = tensor.get("shape")
    sizes = tuple(int(extent) for extent in shape) if isinstance(shape, list) else None
    size = tensor.get("bytes")
    return TensorSize(str(index), str(tensor.get("dtype", "")), sizes, size if isinstance(size, int) else None)
