"""What cannot be read of a dump, and why."""

from __future__ import annotations

import os
from pathlib import Path

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.errors import AtbprobeError


class DumpError(AtbprobeError):
    """A file or folder of a dump is not what it should be.

    `path` is the file, `offset` the byte in it where that shows (None where no byte does), `reason` the rest.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, offset: int | None = None) -> None:
        self.path = Path(path)
        self.offset = offset
        self.reason = reason
        place = "" if offset is None else f", offset {offset}"
        super().__init__(f"{printable(str(self.path))}{place}: {printable(reason)}")
