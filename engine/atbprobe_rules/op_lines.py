"""A list of executions of ops, one a line, read in batches: `round<TAB>dir`, or a plain `dir`.

The first is what the host says: the argument of IsExecuteCountInRange and the directory. Of a plain directory its own
number is taken. Lines end at a line feed, and a carriage return before it is no part of them; names may hold any
other byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.op_texts import Flags, OpPaths, Texts

BATCH_BYTES = 1 << 20

_LINE_FEED, _CARRIAGE_RETURN, _TAB = b"\n\r\t"


class OpsError(AtbprobeError):
    """A line of a list of ops cannot be read."""


@dataclass(frozen=True)
class OpLines:
    """Some lines in a row. `paths` are found among `dirs`, which are all of them, op paths or not."""

    dirs: Texts
    paths: OpPaths
    rounds: npt.NDArray[np.uint64]
    """The round of each line; 0 where there is none."""
    has_round: Flags
    """False where neither a number was given nor the directory holds one."""
    from_argument: Flags
    """Whether the round stood before a tab."""

    def __len__(self) -> int:
        return len(self.dirs)

    @staticmethod
    def of(text: bytes, lines_before: int = 0) -> OpLines:
        """Read whole lines, the last of which may lack its line feed; raises OpsError."""
        if text and not text.endswith(b"\n"):
            text += b"\n"
        array = np.frombuffer(text, dtype=np.uint8)
        end = np.flatnonzero(array == _LINE_FEED)
        begin = np.concatenate([[0], end + 1])[:-1].astype(np.int64)
        end = end - ((end > begin) & (array[end - 1] == _CARRIAGE_RETURN))
        tabs = np.append(np.flatnonzero(array == _TAB), len(array))
        tab = tabs[np.searchsorted(tabs, begin)]
        from_argument = tab < end
        given, is_number = Texts(array, begin, np.where(from_argument, tab, begin)).numbers()
        if (wrong := np.flatnonzero(from_argument & ~is_number)).size:
            line = int(wrong[0])
            word = text[begin[line] : tab[line]].decode("utf-8", "surrogateescape")
            message = f"{word!r} before the tab is not a round: write round<TAB>dir"
            raise OpsError(f"line {lines_before + line + 1} of the ops: {message}")
        dirs = Texts(array, np.where(from_argument, tab + 1, begin), end)
        own, has_own = _own_rounds(dirs)
        return OpLines(
            dirs,
            OpPaths.of(dirs),
            rounds=np.where(from_argument, given, own),
            has_round=from_argument | has_own,
            from_argument=from_argument,
        )


def read_op_lines(file: BinaryIO) -> Iterator[OpLines]:
    """Read a list to its end, a batch at a time; raises OpsError, which names the line."""
    count = 0
    rest = b""
    while block := file.read(BATCH_BYTES):
        whole, line_feed, tail = block.rpartition(b"\n")
        if not line_feed:
            rest += block
            continue
        batch = OpLines.of(rest + whole + line_feed, count)
        rest = tail
        count += len(batch)
        yield batch
    if rest:
        yield OpLines.of(rest, count)


def _own_rounds(dirs: Texts) -> tuple[npt.NDArray[np.uint64], Flags]:
    """Return what stands after the first slash of each, up to the second if there is one."""
    slashes = np.append(np.flatnonzero(dirs.text == ord("/")), [len(dirs.text)] * 2)
    first = np.searchsorted(slashes, dirs.begin)
    has_slash = slashes[first] < dirs.end
    begin = np.where(has_slash, slashes[first] + 1, dirs.end)
    end = np.minimum(slashes[first + 1], dirs.end)
    return Texts(dirs.text, begin, end).numbers()
