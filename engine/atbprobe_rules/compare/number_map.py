"""Where a target has other numbers than golden: a JSON object of golden's numbers and the target's.

    {"devices": {"0-3": "4-7"}, "rounds": {"0": "5"}, "ops": {"2-33": "3-34", "2_1": "3_2"}}

A range stands for each of its numbers and goes to one of the same length; of an id path the last number may be a
range. An operation follows the longest path here that it is or is below of; what is not here has the same number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from atbprobe_rules.errors import AtbprobeError

Ids = tuple[int, ...]

_NUMBERS = re.compile(r"(?P<first>[0-9]{1,18})(?:-(?P<last>[0-9]{1,18}))?")
_PATH = re.compile(r"(?P<above>(?:[0-9]{1,18}_)*)(?P<numbers>[0-9]{1,18}(?:-[0-9]{1,18})?)")
_MOST_ENTRIES = 100_000


class NumberMapError(AtbprobeError):
    """A map that cannot be taken."""


class NumberMap:
    """Golden's devices, rounds and id paths in the target's numbers."""

    def __init__(self, devices: dict[Ids, Ids], rounds: dict[Ids, Ids], ops: dict[Ids, Ids]) -> None:
        self._devices = devices
        self._rounds = rounds
        self._ops = ops
        self._longest = max((len(ids) for ids in ops), default=0)

    @classmethod
    def same(cls) -> NumberMap:
        """The map that changes nothing."""
        return cls({}, {}, {})

    @classmethod
    def parse(cls, text: str | bytes) -> NumberMap:
        """Read a map; raises NumberMapError with what is wrong."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NumberMapError(f"the map is not JSON: {error}") from error
        if not isinstance(content, dict):
            raise NumberMapError('the map is not an object, such as {"ops": {"2": "3"}}')
        unknown = content.keys() - {"devices", "rounds", "ops"}
        if unknown:
            named = ", ".join(sorted(unknown))
            raise NumberMapError(f"the map has devices, rounds and ops, but no {named}")
        return cls(*(_entries(content.get(key, {}), key) for key in ("devices", "rounds", "ops")))

    def device(self, number: int) -> int:
        return self._devices.get((number,), (number,))[0]

    def round(self, number: int) -> int:
        return self._rounds.get((number,), (number,))[0]

    def op(self, ids: Ids) -> Ids:
        for length in range(min(len(ids), self._longest), 0, -1):
            found = self._ops.get(ids[:length])
            if found is not None:
                return found + ids[length:]
        return ids


def _entries(content: Any, key: str) -> dict[Ids, Ids]:
    if not isinstance(content, dict):
        raise NumberMapError(f"{key} is not an object of golden's numbers and the target's")
    form = _PATH if key == "ops" else _NUMBERS
    found: dict[Ids, Ids] = {}
    for golden, target in content.items():
        if not isinstance(target, str | int) or isinstance(target, bool):
            raise NumberMapError(f"{key}: {golden!r} goes to {target!r}, which is no text")
        sources, goals = _expanded(golden, form, key), _expanded(str(target), form, key)
        for source, goal in zip(sources, goals, strict=False):
            if found.setdefault(source, goal) != goal:
                raise NumberMapError(f"{key}: {'_'.join(map(str, source))} goes to two places")
        if _count(golden) != _count(str(target)):
            raise NumberMapError(f"{key}: {golden!r} and {target!r} are not of one length")
        if len(found) > _MOST_ENTRIES:
            raise NumberMapError(f"{key}: more than {_MOST_ENTRIES:,} numbers")
    return found


def _expanded(text: str, form: re.Pattern[str], key: str) -> Iterator[Ids]:
    match = form.fullmatch(text)
    if match is None:
        kind = "id path, whose last number may be a range" if key == "ops" else "number or range"
        raise NumberMapError(f"{key}: {text!r} is no {kind}")
    above = tuple(int(part) for part in match["above"].split("_") if part) if key == "ops" else ()
    numbers = _NUMBERS.fullmatch(match["numbers"] if key == "ops" else text)
    assert numbers is not None
    first, last = int(numbers["first"]), int(numbers["last"] or numbers["first"])
    if not first <= last < first + _MOST_ENTRIES:
        raise NumberMapError(f"{key}: {text!r} is no range, or a very long one")
    return ((*above, number) for number in range(first, last + 1))


def _count(text: str) -> int:
    first, _, last = text.rpartition("_")[2].partition("-")
    return int(last or first) - int(first) + 1
