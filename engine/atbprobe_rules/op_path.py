"""The directory string by which the host names one execution of an op, taken apart.

    0_27576/0/2_Prefill_layer/1_Attention
    head    count   components, the layer-level operation first

Names can hold any bytes but `/`, so everything here is bytes. Every engine reads the string the same way:

- It is split at every `/`, and nothing is dropped: `a//b` and `a/b/` have an empty part. With fewer than
  three parts it is no op path, and nothing is selected by it.
- The head is `<device>_<pid>`, split at its first `_`. The device is the value of the digits before it;
  without a `_`, with anything but ASCII digits there, or with a value that 64 bits cannot hold, the device is
  unknown.
- A component is `<id>_<name>`, split at its first `_`. The id counts only in the form in which ids are
  written: `0`, or digits without a leading zero, of at most 64 bits; otherwise the component has none, and no
  id term matches it. Without a `_` it has no id, and the whole component is its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from atbprobe_rules.selection import MAX_NUMBER

_DIGITS = re.compile(rb"[0-9]+")
_CANONICAL = re.compile(rb"0|[1-9][0-9]*")
_LONGEST = len(str(MAX_NUMBER))


@dataclass(frozen=True)
class OpComponent:
    """One op of the path; `id_text` is what stands before the first `_`, empty if there is none."""

    id: int | None
    id_text: bytes
    name: bytes


@dataclass(frozen=True)
class OpPath:
    """A directory string taken apart. `count` is that of Setups, which no rule looks at."""

    device: int | None
    device_text: bytes
    pid: bytes
    count: bytes
    components: tuple[OpComponent, ...]


def parse_op_path(directory: bytes | str) -> OpPath | None:
    """Take a directory string apart; None if it has fewer than three parts.

    A str is what the file system's names decode to: UTF-8, other bytes as surrogate escapes.
    """
    raw = directory.encode("utf-8", "surrogateescape") if isinstance(directory, str) else directory
    head, *rest = raw.split(b"/")
    if len(rest) < 2:
        return None
    device_text, underscore, pid = head.partition(b"_")
    device = _number(device_text, _DIGITS) if underscore else None
    return OpPath(device, device_text, pid, rest[0], tuple(_component(part) for part in rest[1:]))


def execution_key(directory: bytes) -> bytes:
    """What the directories of all executions of one op in one process have in common: all but the count."""
    head, *rest = directory.split(b"/", 2)
    return b"/".join([head, *rest[1:]]) if len(rest) == 2 else directory


def _component(part: bytes) -> OpComponent:
    id_text, underscore, name = part.partition(b"_")
    if not underscore:
        return OpComponent(None, b"", part)
    return OpComponent(_number(id_text, _CANONICAL), id_text, name)


def _number(text: bytes, form: re.Pattern[bytes]) -> int | None:
    if not form.fullmatch(text):
        return None
    digits = text.lstrip(b"0") or b"0"
    if len(digits) > _LONGEST:
        return None
    number = int(digits)
    return number if number <= MAX_NUMBER else None
