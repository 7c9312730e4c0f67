"""What the published probe makes of a config file, next to what it means here.

The published probe never refuses a value: what it does not know it passes over, and where a type is wrong it takes the
default. So a file can mean two things in a team that uses both. Its reading is told in two ways: as notes, each at its
place in the file, wherever it is not the reading of this language; and as a config of this language that comes to the
same. How it reads is known from running it (tests/peer/test_compat.py does so).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from atbprobe_rules.check import CheckedConfig
from atbprobe_rules.compat_terms import FieldReading, read_devices, read_ids, read_names, read_rounds
from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Span, note, quoted, sort_by_place
from atbprobe_rules.fields import (
    DEVICE,
    DUMP_ENABLE,
    EXEC_RANGE,
    FILTER_LEVEL,
    IDS,
    OP_NAME,
    SAVE_CHILD,
    TASK,
    Field,
)
from atbprobe_rules.parse import parse_json
from atbprobe_rules.scalars import TASKS
from atbprobe_rules.syntax_tree import Array, Boolean, Number, Object, String, Value

PUBLISHED_FIELDS = {
    field.name: field for field in (TASK, DUMP_ENABLE, EXEC_RANGE, IDS, OP_NAME, SAVE_CHILD, DEVICE, FILTER_LEVEL)
}
"""The keys that the published probe knows."""

PUBLISHED_LEVELS = range(3)

_WITHOUT_KEY = {
    "match": 'an operation that "ids" or "op_name" selects is dumped',
    "io": "inputs and outputs are kept",
    "next": 'the rounds are those of "exec_range"',
    "rules": "the fields at the top are the only rule",
    "when": "an operation is kept whatever its values are",
    "stop_after": "it does not stop",
    "max_bytes": "it does not stop",
    "max_tensor_bytes": "tensors of any size are stored",
}
"""What holds under the published probe where this language has a key for it."""

_WIDENED = {
    IDS.name: "with no ids and no names it dumps all layers",
    OP_NAME.name: "with no ids and no names it dumps all layers",
    DEVICE.name: "that is all devices",
}

_DIGITS = len(str(-(2**63)))
"""The most characters of a number of 64 bits, with or without a sign."""

_WHOLE_FILE = Span(0, 0)
_BEYOND_CHECK = {Code.TOO_LARGE, Code.TOO_DEEP}


@dataclass(frozen=True)
class PublishedReading:
    """How the published probe reads a file.

    `config` has a value for each of its keys, and means here what the file means there. It is None if no config does
    so, if the file cannot be read there, or if it was not read to its end here.
    """

    notes: tuple[Diagnostic, ...]
    config: dict[str, Any] | None


def read_as_published(checked: CheckedConfig) -> PublishedReading:
    """Read a file that was checked as the published probe reads it."""
    found = {diagnostic.code for diagnostic in checked.diagnostics if diagnostic.span == _WHOLE_FILE}
    if Code.TOO_LARGE in found:
        return PublishedReading((_not_told(_WHOLE_FILE),), None)
    if checked.source.text == "":
        message = "the published probe dumps nothing while the file is empty"
        return PublishedReading((note(Code.COMPAT_UNREADABLE, _WHOLE_FILE, message),), None)
    value, problems = parse_json(checked.source)
    trailing = [problem for problem in problems if problem.code is Code.TRAILING_TEXT]
    end = trailing[0].span.offset if trailing else len(checked.source.text)
    not_utf8 = [found for found in checked.diagnostics if found.code is Code.NOT_UTF8 and found.span.offset < end]
    obstacle = _obstacle([*not_utf8, *(problem for problem in problems if problem not in trailing)], value)
    if obstacle is not None:
        return PublishedReading((obstacle,), None)

    message = "the published probe reads the object and passes over the text after it"
    notes = [note(Code.COMPAT_IGNORED, problem.span, message) for problem in trailing]
    config = _read_config(value, notes)
    if not notes:
        meaning = "selects the same" if checked.ok else "takes this file, and every value as it is written"
        notes.append(note(Code.COMPAT_SAME, _WHOLE_FILE, f"the published probe {meaning}"))
    return PublishedReading(sort_by_place(notes), config)


def _obstacle(problems: list[Diagnostic], value: Value | None) -> Diagnostic | None:
    """Return why there are no values to tell of, if so: the published probe cannot read them, or nobody here did."""
    broken = [problem.span for problem in problems if problem.code not in _BEYOND_CHECK]
    broken += [number.span for number in _numbers(value) if math.isinf(float(number.text))]
    if broken:
        return _unreadable(broken[0])
    return _not_told(problems[0].span) if problems else None


def _unreadable(span: Span) -> Diagnostic:
    message = "the published probe cannot read this file either: it keeps what it had, at first nothing"
    return note(Code.COMPAT_UNREADABLE, span, message)


def _not_told(span: Span) -> Diagnostic:
    message = "what the published probe makes of this file is not told: it goes beyond what is checked here"
    return note(Code.COMPAT_NOT_TOLD, span, message)


def _numbers(value: Value | None) -> Iterator[Number]:
    """Yield all numbers; the depth of a value is bounded by the parser."""
    if isinstance(value, Number):
        yield value
    elif isinstance(value, Array):
        for item in value.items:
            yield from _numbers(item)
    elif isinstance(value, Object):
        for member in value.members:
            yield from _numbers(member.value)


def _read_config(value: Value | None, notes: list[Diagnostic]) -> dict[str, Any] | None:
    if not isinstance(value, Object):
        span = _WHOLE_FILE if value is None else value.span
        message = "the published probe takes the default of every key, so dumping is off"
        notes.append(note(Code.COMPAT_DEFAULT, span, message))
        return {name: field.default for name, field in PUBLISHED_FIELDS.items()}
    values = _last_values(value, notes)
    save_child = _read_boolean(values, SAVE_CHILD, notes)

    def read_string(field: Field, read: Callable[[String, list[Diagnostic]], FieldReading]) -> FieldReading:
        given = values.get(field.name)
        if isinstance(given, String):
            return read(given, notes)
        if given is not None:
            notes.append(_wrong_type(field, given))
        return FieldReading(str(field.default))

    ids = read_string(IDS, read_ids)
    names = read_string(OP_NAME, partial(read_names, save_child=save_child))
    devices = read_string(DEVICE, read_devices)
    rounds = read_string(EXEC_RANGE, read_rounds)
    task = _read_task(values.get(TASK.name), notes)
    config: dict[str, Any] = {
        TASK.name: task,
        DUMP_ENABLE.name: _read_boolean(values, DUMP_ENABLE, notes),
        EXEC_RANGE.name: rounds.text,
        IDS.name: ids.text,
        OP_NAME.name: names.text,
        SAVE_CHILD.name: save_child,
        DEVICE.name: devices.text,
        FILTER_LEVEL.name: _read_filter_level(values.get(FILTER_LEVEL.name), notes),
    }
    # An empty field here would be everything: what matches nothing has no spelling but that no round is taken.
    no_op = (ids.nothing or names.nothing) and not (ids.text or names.text)
    if no_op or devices.nothing:
        config[EXEC_RANGE.name] = "none"
    return None if task is None or devices.inexpressible else config


def _last_values(config: Object, notes: list[Diagnostic]) -> dict[str, Value]:
    """Return the value of each key that the published probe knows: of several the last one."""
    values: dict[str, Value] = {}
    keys: dict[str, String] = {}
    for member in config.members:
        key = member.key
        assert isinstance(key, String)  # a file with another key is not read
        name = key.text
        if name not in PUBLISHED_FIELDS:
            instead = f": {_WITHOUT_KEY[name]}" if name in _WITHOUT_KEY else ""
            notes.append(note(Code.COMPAT_IGNORED, key.span, f"the published probe ignores {quoted(name)}{instead}"))
            continue
        if name in keys:
            message = f"the published probe takes the last {quoted(name)}"
            later = Related(key.span, "given again here")
            notes.append(note(Code.COMPAT_OVERRIDDEN, keys[name].span, message, None, later))
        keys[name] = key
        values[name] = member.value
    return values


def _wrong_type(field: Field, value: Value) -> Diagnostic:
    message = f"the published probe takes the default of {quoted(field.name)}, {json.dumps(field.default)}"
    return note(Code.COMPAT_DEFAULT, value.span, message, _WIDENED.get(field.name))


def _read_boolean(values: Mapping[str, Value], field: Field, notes: list[Diagnostic]) -> bool:
    value = values.get(field.name)
    if isinstance(value, Boolean):
        return value.value
    if value is not None:
        notes.append(_wrong_type(field, value))
    return bool(field.default)


def _read_task(value: Value | None, notes: list[Diagnostic]) -> str | None:
    """Return the task. A word that is none comes to neither data nor statistics, which cannot be asked for here."""
    if isinstance(value, String) and value.text in TASKS:
        return value.text
    if isinstance(value, String) and value.text:
        message = f"the published probe keeps neither data nor statistics for the task {quoted(value.text)}"
        notes.append(note(Code.COMPAT_NOTHING, value.span, message, "it says that it takes the default, and does not"))
        return None
    if value is not None:
        notes.append(_wrong_type(TASK, value))
    return str(TASK.default)


def _read_filter_level(value: Value | None, notes: list[Diagnostic]) -> int:
    default = FILTER_LEVEL.default
    assert isinstance(default, int)
    if value is None:
        return default
    if not isinstance(value, (Boolean, Number)):
        notes.append(_wrong_type(FILTER_LEVEL, value))
        return default
    level = int(value.value) if isinstance(value, Boolean) else _c_int(value.text)
    if level is None or level not in PUBLISHED_LEVELS:
        message = f"the published probe knows no filter_level {_shown(value)}, and takes {default}"
        notes.append(note(Code.COMPAT_DEFAULT, value.span, message))
        return default
    if isinstance(value, Boolean) or value.text != str(level):
        message = f"the published probe reads {_shown(value)} as {level}"
        notes.append(note(Code.COMPAT_OTHER_VALUE, value.span, message))
    return level


def _shown(value: Boolean | Number) -> str:
    return json.dumps(value.value) if isinstance(value, Boolean) else value.text[:20]


def _c_int(text: str) -> int | None:
    """Return what becomes of a JSON number in a C int: fractions are cut off, 64-bit numbers keep their low 32 bits."""
    if text.lstrip("-").isdecimal() and len(text) <= _DIGITS and -(2**63) <= int(text) < 2**64:
        return (int(text) + 2**31) % 2**32 - 2**31
    number = float(text)
    return int(number) if abs(number) < 2**31 else None
