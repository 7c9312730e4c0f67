"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

PRIVATE = 0o600


def write_whole_file(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """Write a file beside its place and rename it there; raises OSError, and leaves what was there then."""
    with whole_file(path) as temporary:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


@contextlib.contextmanager
def whole_file(path: Path, temporary_name: str = "") -> Iterator[Path]:
    """Give the name of a file to write in the block, which is renamed to `path` when the block is through.

    It is in the same folder, called `temporary_name` or, without one, as nothing else is.
    """
    temporary = path.with_name(temporary_name or f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
