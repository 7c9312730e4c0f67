"""Writing what a dump is converted to, and telling whether it has been written already.

A file gets the time of the newest .bin that it was made from, before it gets its name. One with that time, and with the
names, types and shapes that it is to have, was made from these files and is whole: it is not made again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from atbprobe_rules.dump.converted_array import ConvertedArray, FileFormat
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.whole_file import whole_file

MOST_HEADER_BYTES = 256 << 20
ALIGNMENT = 64
TEMPORARY = ".atbprobe-convert"

Arrays = Mapping[str, ConvertedArray]
Advance = Callable[[], None]


def newest_time(arrays: Arrays) -> int:
    """Return when the newest of the files was changed, in nanoseconds since the epoch."""
    paths = {path for array in arrays.values() for path in (array.tensor.path, array.tensor.data_path)}
    return max(path.stat().st_mtime_ns for path in paths)


def write_converted(path: Path, arrays: Arrays, file_format: FileFormat, advance: Advance) -> None:
    """Write a file. Raises DumpError or OSError, and leaves no file then.

    `advance` is called after each tensor that was read. Memory holds one block of one tensor at a time.
    """
    time = newest_time(arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, _temporary_name(path, os.getpid())) as temporary:
        if file_format is FileFormat.SAFETENSORS:
            _write_safetensors(temporary, arrays, advance)
        elif file_format is FileFormat.NPZ:
            _write_npz(temporary, arrays, advance)
        else:
            [array] = arrays.values()
            with temporary.open("xb") as file:
                _write_npy(file, array)
            advance()
        os.utime(temporary, ns=(time, time))


def _write_npy(file: IO[bytes], array: ConvertedArray) -> None:
    np.lib.format.write_array_header_1_0(file, _npy_header(array))
    for block in array.blocks():
        file.write(block)


def _npy_header(array: ConvertedArray) -> dict[str, Any]:
    descr = np.lib.format.dtype_to_descr(array.array_dtype)
    return {"descr": descr, "fortran_order": False, "shape": array.shape}


def _write_npz(path: Path, arrays: Arrays, advance: Advance) -> None:
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # A fixed date: the same dump gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                _write_npy(member, array)
            advance()


def _write_safetensors(path: Path, arrays: Arrays, advance: Advance) -> None:
    """The library wants all arrays at once: they are put into a file without a name, which is mapped."""
    import safetensors.numpy

    offsets = {}
    with tempfile.TemporaryFile(dir=path.parent) as scratch:
        for name, array in arrays.items():
            offsets[name] = scratch.seek(-(-scratch.tell() // ALIGNMENT) * ALIGNMENT)
            for block in array.blocks():
                scratch.write(block)
            advance()
        scratch.write(b"\0")  # nothing at all cannot be mapped
        scratch.flush()
        mapped = np.memmap(scratch, np.uint8, "r")
        views = {
            name: np.ndarray(array.shape, array.array_dtype, mapped, offsets[name]) for name, array in arrays.items()
        }
        was = {name: {"dtype": array.dtype, "format": array.tensor.format} for name, array in arrays.items()}
        safetensors.numpy.save_file(views, path, {"atb": json.dumps(was)})


def is_converted(path: Path, arrays: Arrays, file_format: FileFormat) -> bool:
    """Say whether a file is there and is what `write_converted` would make of these tensors."""
    try:
        if path.is_symlink() or path.stat().st_mtime_ns != newest_time(arrays):
            return False
        if file_format is FileFormat.NPZ:
            with zipfile.ZipFile(path) as archive:
                return archive.namelist() == [f"{name}.npy" for name in arrays]
        with path.open("rb") as file:
            if file_format is FileFormat.NPY:
                [array] = arrays.values()
                return _is_npy_of(file, array)
            return _safetensors_names(file) == set(arrays)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError):
        return False


def _is_npy_of(file: BinaryIO, array: ConvertedArray) -> bool:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, _npy_header(array))
    size = os.fstat(file.fileno()).st_size
    return size == header.tell() + array.nbytes and file.read(header.tell()) == header.getvalue()


def _safetensors_names(file: BinaryIO) -> set[str] | None:
    """None unless the file is as long as its header says."""
    length = int.from_bytes(file.read(8), "little")
    if length > MOST_HEADER_BYTES:
        return None
    header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    return set(header) if os.fstat(file.fileno()).st_size == 8 + length + end else None


def _temporary_name(path: Path, pid: int) -> str:
    """At most as long as a name may be, whatever the file is called."""
    start = os.fsdecode(os.fsencode(path.name)[:200])
    return f".{start}.{pid}{TEMPORARY}"


def sweep(folder: Path) -> None:
    """Take away what conversions that were killed have left in a folder; there need not be one."""
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(TEMPORARY)]
    except OSError:
        return
    for name in names:
        pid = name.removesuffix(TEMPORARY).rpartition(".")[2]
        if pid.isdecimal() and not _is_alive(int(pid)):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def _is_alive(pid: int) -> bool:
    if pid == os.getpid():
        return False  # a name of ours that is still there is from an earlier process with our number
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def check_reachable(path: Path) -> None:
    """Raise DumpError for a place that no file can be put at, before much work is done."""
    if path.is_dir():
        raise DumpError(path, "this is a folder, where a file is to be")
