"""What the fields of one value mean: words, counts and sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from atbprobe_rules.diagnostics import Code, Diagnostic, error, quoted
from atbprobe_rules.fields import Field, nearest_word
from atbprobe_rules.selection import MAX_NUMBER, Tasks
from atbprobe_rules.syntax_tree import Number, String, Value

TASKS = {
    "tensor": Tasks.TENSOR,
    "statistics": Tasks.STATISTICS,
    "all": Tasks.TENSOR | Tasks.STATISTICS,
}
MATCHES = {"any": False, "all": True}
SIDES = {"in": (True, False), "out": (False, True), "both": (True, True)}
"""Of each word of `io`, whether inputs and whether outputs are wanted."""

MAX_FILTER_LEVEL = 3

_WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]*")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)[ \t]*([A-Za-z]*)")
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_LONGEST_NUMBER = 64

T = TypeVar("T")


def read_word(value: String, field: Field, words: Mapping[str, T], code: Code, found: list[Diagnostic]) -> T | None:
    """Return what one of the words of a field stands for; None if it is none of them."""
    if value.text in words:
        return words[value.text]
    longer = next((word for word in words if value.text.lower().startswith(word)), None)
    near = nearest_word(value.text, words) or longer
    hint = f"did you mean {quoted(near)}?" if near else f"write one of {', '.join(map(quoted, words))}"
    found.append(error(code, value.span, f"there is no {field.name} {quoted(value.text)}", hint))
    return None


def read_count(value: Number, field: Field, found: list[Diagnostic]) -> int | None:
    """Read a whole number from 1 to MAX_NUMBER."""
    text = value.text
    name = quoted(field.name)
    if not text.removeprefix("-").isdecimal():
        message = f"{name} must be a whole number, not {text[:20]}"
        found.append(error(Code.WRONG_TYPE, value.span, message))
    elif text.startswith("-") or text == "0":
        found.append(error(Code.BAD_COUNT, value.span, f"{name} counts from 1, and {text[:20]} is less"))
    elif len(text) > len(str(MAX_NUMBER)) or int(text) > MAX_NUMBER:
        found.append(error(Code.BAD_COUNT, value.span, f"{name} is more than 64 bits can hold"))
    else:
        return int(text)
    return None


def read_size(value: Value, field: Field, found: list[Diagnostic]) -> int | None:
    """Read a number of bytes, or text such as `10 GiB`; at least one byte."""
    assert isinstance(value, (Number, String))
    match = _SIZE.fullmatch(value.text.strip())
    hint = 'write a number of bytes, or a size such as "10 GiB"'
    if match is None or len(match[1]) > _LONGEST_NUMBER or (isinstance(value, Number) and "." in match[1]):
        message = f"{quoted(value.text)} is not a size"
    elif match[1][0] == "0" and match[1][1:2].isdecimal():
        message = f"{quoted(value.text)} begins with a zero"
    elif match[2] not in _UNITS:
        near = nearest_word(match[2], ["kib", "mib", "gib", "tib"])
        unit = next((unit for unit in _UNITS if unit.lower() == near), None)
        hint = f"did you mean {unit}?" if unit else f"the units are {', '.join(filter(None, _UNITS))}"
        message = f"there is no unit {quoted(match[2])}"
    else:
        size = int(float(match[1]) * _UNITS[match[2]]) if "." in match[1] else int(match[1]) * _UNITS[match[2]]
        if 0 < size <= MAX_NUMBER:
            return size
        message = f"{quoted(field.name)} must be at least one byte, and what 64 bits can hold"
    found.append(error(Code.BAD_SIZE, value.span, message, hint))
    return None


def read_filter_level(value: Number, found: list[Diagnostic]) -> int | None:
    """Read a level of filter_level."""
    if _WHOLE_NUMBER.fullmatch(value.text) and len(value.text) == 1 and int(value.text) <= MAX_FILTER_LEVEL:
        return int(value.text)
    if value.text.removeprefix("-").isdecimal():
        message = f'there is no "filter_level" {value.text[:20]}'
        found.append(error(Code.BAD_FILTER_LEVEL, value.span, message, f"the levels are 0 to {MAX_FILTER_LEVEL}"))
    else:
        message = f'"filter_level" must be a whole number, not {value.text[:20]}'
        found.append(error(Code.WRONG_TYPE, value.span, message))
    return None
