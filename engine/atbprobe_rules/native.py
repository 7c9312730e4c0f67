"""The C functions of the probe library (interposer/c_api.h), called through ctypes.

Either of the two libraries would do: the functions do not depend on the ABI of std::string. Importing this
module loads nothing; the library is found and loaded at the first call. `ATBPROBE_TEST_NATIVE` names a folder
to take it from in place of the installation.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.evaluate import DECISION
from atbprobe_rules.installation import probe_library
from atbprobe_rules.program import Records
from atbprobe_rules.verifier import ImageError

TEST_FOLDER_VARIABLE = "ATBPROBE_TEST_NATIVE"

_PATH_BYTES = 4096


def library_path() -> Path:
    """Return the library whose functions are called; raises AtbprobeError when this installation has none."""
    folder = os.environ.get(TEST_FOLDER_VARIABLE)
    return Path(folder) / "libatb_probe_abi1.so" if folder else probe_library(1)


def layout() -> dict[str, Any]:
    """Return the layouts of all records and the constants, as the library was compiled with them.

    `structs` maps the name of a struct to its `size` and its `fields`, name to [offset, size]; `constants`
    maps names to numbers.
    """
    size = int(_library().atbprobe_layout(None, 0))
    text = ctypes.create_string_buffer(size + 1)
    _library().atbprobe_layout(text, size + 1)
    result: dict[str, Any] = json.loads(text.value)
    return result


def verdict_name(verdict: int) -> str:
    """Return what a verdict of the verifier is called; 0 is `ok`."""
    name: bytes = _library().atbprobe_verdict_name(verdict)
    return name.decode()


def verify(image: bytes) -> str:
    """Return the name of the verifier's verdict on an image, `ok` for a good one."""
    return verdict_name(_library().atbprobe_verify(image, len(image)))


class NativeProgram:
    """An image, copied, verified and opened for decisions, for use in a `with`; raises ImageError."""

    def __init__(self, image: bytes) -> None:
        verdict = ctypes.c_uint32()
        self._handle: int | None = _library().atbprobe_program_open(image, len(image), ctypes.byref(verdict))
        if self._handle is None:
            raise ImageError(verdict_name(verdict.value))

    def __enter__(self) -> NativeProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the program."""
        _library().atbprobe_program_close(self._handle)
        self._handle = None

    def decide_many(
        self, rounds: Sequence[int], dirs: Sequence[bytes], earlier: Sequence[int] | None = None
    ) -> Records:
        """Decide as `evaluate.decide_many` does; return `evaluate.DECISION` records."""
        if self._handle is None:
            raise ValueError("the program is closed")
        decide = _library().atbprobe_program_decide
        decisions = np.zeros(len(dirs), dtype=DECISION)
        address = decisions.ctypes.data
        counts = [0] * len(dirs) if earlier is None else earlier
        for number, directory, count in zip(rounds, dirs, counts, strict=True):
            decide(self._handle, number, directory, len(directory), count, address)
            address += DECISION.itemsize
        return decisions


def channel_path(runtime_folder: str, config: str) -> str:
    """Return the folder, below `runtime_folder`, of the channel that belongs to a config file.

    `config` is the file's absolute path as written. Raises OSError, as all functions below do.
    """
    text = ctypes.create_string_buffer(_PATH_BYTES)
    _checked(
        _library().atbprobe_channel_path(os.fsencode(runtime_folder), os.fsencode(config), text, len(text)), config
    )
    return os.fsdecode(text.value)


def channel_create(folder: str) -> None:
    """Make what is missing of the channel in `folder` and check what is there."""
    _checked(_library().atbprobe_channel_create(os.fsencode(folder)), folder)


def publish(folder: str, image: bytes) -> int:
    """Put an image in force in every process attached to the channel; return its generation.

    The library verifies it first and writes the generation into its copy; EBADMSG: it is no good image.
    """
    return _checked(_library().atbprobe_publish(os.fsencode(folder), image, len(image)), folder)


def channel_close(folder: str) -> None:
    """Tell the attached processes that this channel goes away."""
    _checked(_library().atbprobe_channel_close(os.fsencode(folder)), folder)


def channel_ring(folder: str) -> None:
    """Say to every attached process that there is a request to look for in the channel's folder."""
    _checked(_library().atbprobe_channel_ring(os.fsencode(folder)), folder)


def channel_heartbeat(folder: str, pid: int, start_time: int) -> None:
    """Leave the watcher's sign of life in the channel; pid 0 withdraws it."""
    _checked(_library().atbprobe_channel_heartbeat(os.fsencode(folder), pid, start_time), folder)


def _checked(result: int, path: str) -> int:
    if result < 0:
        raise OSError(-result, os.strerror(-result), path)
    return result


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise AtbprobeError(f"cannot load {path}: {error}") from error
    text, size, number = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32
    handle, outcome = ctypes.c_void_p, ctypes.c_int64
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "layout": (size, [text, size]),
        "verdict_name": (text, [number]),
        "verify": (number, [text, size]),
        "program_open": (handle, [text, size, ctypes.POINTER(number)]),
        "program_close": (None, [handle]),
        "program_decide": (None, [handle, ctypes.c_uint64, text, size, ctypes.c_uint64, handle]),
        "channel_path": (outcome, [text, text, text, size]),
        "channel_create": (outcome, [text]),
        "publish": (outcome, [text, text, size]),
        "channel_close": (outcome, [text]),
        "channel_ring": (outcome, [text]),
        "channel_heartbeat": (outcome, [text, number, ctypes.c_uint64]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"atbprobe_{name}")
        function.restype = result
        function.argtypes = arguments
    return library
