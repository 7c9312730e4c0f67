"""Writing what a dump is converted to, and telling whether it has been written already.

A file gets the time of the newest .bin that it was made from, before it gets its name. One with that time, and with the
names, types and shapes that it is to have, was made from these files and is whole: it is not made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from atbprobe_rules.dump.converted_array import FileFormat, converted_array
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.element_types import Array
from atbprobe_rules.dump.tensor import Tensor

MOST_HEADER_BYTES = 256 << 20
ALIGNMENT = 64

Advance = Callable[[Tensor], None]


def newest_time(tensors: Mapping[str, Tensor]) -> int:
    """Return when the newest of the files was changed, in nanoseconds since the epoch."""
    paths = {path for tensor in tensors.values() for path in (tensor.path, tensor.data_path)}
    return max(path.stat().st_mtime_ns for path in paths)


def write_converted(
    path: Path, tensors: Mapping[str, Tensor], file_format: FileFormat, advance: Advance
) -> list[tuple[str, str]]:
    """Write a file; return the type that each tensor had and has. Raises DumpError or OSError, and leaves no file.

    `advance` is called after each tensor that was read. Memory holds one at a time.
    """
    time = newest_time(tensors)
    types: list[tuple[str, str]] = []

    def read(tensor: Tensor) -> Array:
        converted = converted_array(tensor, file_format)
        types.append((converted.dtype, converted.type_name))
        return converted.array

    path.parent.mkdir(parents=True, exist_ok=True)
    with _renamed_when_whole(path) as temporary:
        if file_format is FileFormat.SAFETENSORS:
            _write_safetensors(temporary, tensors, read, advance)
        elif file_format is FileFormat.NPZ:
            _write_npz(temporary, tensors, read, advance)
        else:
            [tensor] = tensors.values()
            with temporary.open("xb") as file:
                np.lib.format.write_array(file, read(tensor), allow_pickle=False)
            advance(tensor)
        os.utime(temporary, ns=(time, time))
    return types


def _write_npz(path: Path, tensors: Mapping[str, Tensor], read: Callable[[Tensor], Array], advance: Advance) -> None:
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED) as archive:
        for name, tensor in tensors.items():
            # A fixed date: the same dump gives the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, read(tensor), allow_pickle=False)
            advance(tensor)


def _write_safetensors(
    path: Path, tensors: Mapping[str, Tensor], read: Callable[[Tensor], Array], advance: Advance
) -> None:
    """The library wants all arrays at once: they are put into a file without a name, which is mapped."""
    import safetensors.numpy

    places: dict[str, tuple[int, np.dtype[Any], tuple[int, ...]]] = {}
    with tempfile.TemporaryFile(dir=path.parent) as scratch:
        for name, tensor in tensors.items():
            array = read(tensor)
            places[name] = (scratch.seek(-(-scratch.tell() // ALIGNMENT) * ALIGNMENT), array.dtype, array.shape)
            array.tofile(scratch)
            advance(tensor)
        scratch.write(b"\0")  # nothing at all cannot be mapped
        scratch.flush()
        mapped = np.memmap(scratch, np.uint8, "r")
        was = {name: {"dtype": tensor.dtype, "format": tensor.format} for name, tensor in tensors.items()}
        arrays = {name: np.ndarray(shape, dtype, mapped, offset) for name, (offset, dtype, shape) in places.items()}
        safetensors.numpy.save_file(arrays, path, {"atb": json.dumps(was)})


def is_converted(path: Path, tensors: Mapping[str, Tensor], file_format: FileFormat) -> bool:
    """Say whether a file is there and is what `write_converted` would make of these tensors."""
    try:
        if path.is_symlink() or path.stat().st_mtime_ns != newest_time(tensors):
            return False
        if file_format is FileFormat.NPZ:
            with zipfile.ZipFile(path) as archive:
                return archive.namelist() == [f"{name}.npy" for name in tensors]
        with path.open("rb") as file:
            if file_format is FileFormat.NPY:
                [tensor] = tensors.values()
                return _is_npy_of(file, tensor)
            return _safetensors_names(file) == set(tensors)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError):
        return False


def _is_npy_of(file: BinaryIO, tensor: Tensor) -> bool:
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = header(file)
    expected = (tensor.size if tensor.element_type.is_readable else tensor.nbytes) * dtype.itemsize
    shapes = (tensor.shape, (tensor.nbytes,))
    return not is_fortran and shape in shapes and os.fstat(file.fileno()).st_size == file.tell() + expected


def _safetensors_names(file: BinaryIO) -> set[str] | None:
    """None unless the file is as long as its header says."""
    length = int.from_bytes(file.read(8), "little")
    if length > MOST_HEADER_BYTES:
        return None
    header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    return set(header) if os.fstat(file.fileno()).st_size == 8 + length + end else None


@contextlib.contextmanager
def _renamed_when_whole(path: Path) -> Iterator[Path]:
    """Give a name beside `path`, for a file that becomes `path` at the end, or is taken away."""
    _sweep(path)
    temporary = path.with_name(_temporary_name(path, os.getpid()))
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _temporary_name(path: Path, pid: int) -> str:
    """At most as long as a name may be, whatever the file is called."""
    start = os.fsdecode(os.fsencode(path.name)[:200])
    return f".{start}.{pid}.tmp"


def _sweep(path: Path) -> None:
    """Take away what processes that were killed have left of the same file."""
    start, end = _temporary_name(path, 0).rsplit(".0.", 1)
    for entry in os.scandir(path.parent):
        pid = entry.name.removeprefix(f"{start}.").removesuffix(f".{end}")
        if entry.name == f"{start}.{pid}.{end}" and pid.isdecimal() and not _is_alive(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)  # noqa: PTH108  (an entry's path)


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
