"""From the bytes of a config file to the selection it means, or to everything that is wrong with it.

A config is taken whole or not at all. Every mistake is reported, not only the first; a mistake never makes a
config select more than was written, because with one error there is no selection.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from atbprobe_rules.diagnostics import (
    Code,
    Diagnostic,
    Related,
    Severity,
    Source,
    Span,
    error,
    quoted,
    render_all,
    sort_by_place,
)
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.fields import (
    DEVICE,
    DUMP_ENABLE,
    EXEC_RANGE,
    FIELDS,
    FILTER_LEVEL,
    FORMER_NAMES,
    IDS,
    LATER_FIELDS,
    OP_NAME,
    SAVE_CHILD,
    TASK,
    Field,
    FieldType,
    nearest_word,
)
from atbprobe_rules.parse import parse_json
from atbprobe_rules.selection import Rule, Selection, Tasks
from atbprobe_rules.shadowing import shadowed_terms
from atbprobe_rules.syntax_tree import Array, Boolean, Invalid, Null, Number, Object, String, Value
from atbprobe_rules.terms import MAX_MARKS, is_too_large, read_devices, read_ids, read_names, read_rounds

MAX_BYTES = 1024 * 1024

TASKS = {
    "tensor": Tasks.TENSOR,
    "statistics": Tasks.STATISTICS,
    "all": Tasks.TENSOR | Tasks.STATISTICS,
}
FILTER_LEVELS = {"0": 0, "1": 1, "2": 2, "3": 3}

_SHOWN_OF_TOO_LARGE = 4096

_UNQUOTED: dict[FieldType, Collection[str]] = {
    FieldType.STRING: (),
    FieldType.BOOLEAN: ("true", "false"),
    FieldType.INTEGER: FILTER_LEVELS,
}

_TYPE_NAMES: dict[type[object], str] = {
    Null: "null",
    Boolean: "true or false",
    Number: "a number",
    String: "a string",
    Array: "an array",
    Object: "an object",
}

_CLASSES: dict[FieldType, type[object]] = {
    FieldType.STRING: String,
    FieldType.BOOLEAN: Boolean,
    FieldType.INTEGER: Number,
}

T = TypeVar("T")


class ConfigError(AtbprobeError):
    """A config was refused; `checked` has the diagnostics, and the message is their text."""

    def __init__(self, checked: CheckedConfig) -> None:
        super().__init__(checked.render())
        self.checked = checked


@dataclass(frozen=True)
class CheckedConfig:
    """What came out of a file: diagnostics in the order of the file, and a selection if none is an error."""

    source: Source
    selection: Selection | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether the config is taken; there may be warnings."""
        return self.selection is not None

    def require(self) -> Selection:
        """Return the selection, or raise ConfigError."""
        if self.selection is None:
            raise ConfigError(self)
        return self.selection

    def render(self) -> str:
        """Return the diagnostics as text."""
        return render_all(self.diagnostics, self.source)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `check --json` prints."""
        diagnostics = [diagnostic.to_json(self.source) for diagnostic in self.diagnostics]
        return {"file": self.source.filename, "ok": self.ok, "diagnostics": diagnostics}


def check_config(data: bytes, filename: str) -> CheckedConfig:
    """Check the content of a config file. Never raises on account of the content."""
    source, found = _decode(data, filename)
    selection = None
    if not found:
        value, found = parse_json(source)
        if isinstance(value, Object):
            selection = _read_object(value, found)
        elif value is not None and not isinstance(value, Invalid):
            message = f"a config is a JSON object, not {_TYPE_NAMES[type(value)]}"
            found.append(error(Code.NOT_AN_OBJECT, value.span, message))
    if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        selection = None
    if selection is not None:
        found += [diagnostic for rule in selection.rules for diagnostic in shadowed_terms(rule, source)]
    return CheckedConfig(source, selection, sort_by_place(found))


def _decode(data: bytes, filename: str) -> tuple[Source, list[Diagnostic]]:
    if len(data) > MAX_BYTES:
        source = Source(filename, data[:_SHOWN_OF_TOO_LARGE].decode("utf-8", "replace"))
        message = f"the file has {len(data)} bytes, and a config may have {MAX_BYTES}"
        return source, [error(Code.TOO_LARGE, Span(0, 0), message)]
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(filename, data.decode("utf-8")), []
    except UnicodeDecodeError as failure:
        place = Span(len(data[: failure.start].decode("utf-8")), 1)
        message = f"byte 0x{data[failure.start]:02x} here is not UTF-8"
        source = Source(filename, data.decode("utf-8", "replace"))
        return source, [error(Code.NOT_UTF8, place, message, "save the file as UTF-8")]


def _read_object(config: Object, found: list[Diagnostic]) -> Selection:
    values = _fields_of(config, found)

    def read_string(field: Field, read: Callable[[String, list[Diagnostic]], T]) -> T:
        value = values.get(field.name)
        assert isinstance(field.default, str)
        return read(value if isinstance(value, String) else String.implied(field.default, config.span), found)

    def read_boolean(field: Field) -> bool:
        value = values.get(field.name)
        return value.value if isinstance(value, Boolean) else bool(field.default)

    tasks = read_string(TASK, _read_task)
    rule = Rule(
        number=1,
        name=None,
        tasks_in=tasks,
        tasks_out=tasks,
        rounds=read_string(EXEC_RANGE, read_rounds),
        devices=read_string(DEVICE, read_devices),
        ids=read_string(IDS, read_ids),
        names=read_string(OP_NAME, read_names),
        save_child=read_boolean(SAVE_CHILD),
        match_all=False,
        span=config.span,
    )
    filter_level = _read_filter_level(values.get(FILTER_LEVEL.name), found)
    return Selection(read_boolean(DUMP_ENABLE), filter_level, (rule,))


def _fields_of(config: Object, found: list[Diagnostic]) -> dict[str, Value]:
    """Return the values of known keys that have the right type and size."""
    values: dict[str, Value] = {}
    first: dict[str, String] = {}
    for member in config.members:
        key, value = member.key, member.value
        if isinstance(key, Invalid):
            continue
        earlier = first.setdefault(key.text, key)
        if earlier is not key:
            related = Related(earlier.span, "first given here")
            message = f"{quoted(key.text)} is there already"
            found.append(error(Code.DUPLICATE_KEY, key.span, message, None, related))
        field = FIELDS.get(key.text)
        if field is None:
            found.append(_unknown_key(key))
        elif _has_type(value, field, found) and _has_size(value, field, found):
            values[field.name] = value
    return values


def _unknown_key(key: String) -> Diagnostic:
    name = quoted(key.text)
    if key.text in LATER_FIELDS:
        message = f"{name} is not in this version of the rules language"
        return error(Code.NOT_IN_THIS_VERSION, key.span, message)
    former = FORMER_NAMES.get(key.text.lower().replace("-", "_"))
    near = nearest_word(key.text, FIELDS)
    if former is not None:
        hint = f"it is called {quoted(former)} today"
    elif near is not None:
        hint = f"did you mean {quoted(near)}?"
    else:
        hint = f"the keys are {', '.join(FIELDS)}"
    return error(Code.UNKNOWN_KEY, key.span, f"there is no key {name}", hint)


def _has_type(value: Value, field: Field, found: list[Diagnostic]) -> bool:
    if isinstance(value, Invalid):
        return False
    if isinstance(value, _CLASSES[field.type]):
        return True
    hint = None
    if isinstance(value, Null):
        hint = "leave the key out for the default"
    elif field.type is FieldType.STRING and isinstance(value, Number):
        hint = f"write {quoted(value.text)}"
    elif isinstance(value, String) and value.text.lower() in _UNQUOTED[field.type]:
        hint = f"write {value.text.lower()} without quotes"
    message = f"{quoted(field.name)} must be {field.type.value}, not {_TYPE_NAMES[type(value)]}"
    found.append(error(Code.WRONG_TYPE, value.span, message, hint))
    return False


def _has_size(value: Value, field: Field, found: list[Diagnostic]) -> bool:
    if not isinstance(value, String) or not is_too_large(value):
        return True
    message = f"{quoted(field.name)} has more than {MAX_MARKS} terms and parts of terms"
    found.append(error(Code.TOO_LARGE, value.span, message))
    return False


def _read_task(value: String, found: list[Diagnostic]) -> Tasks:
    tasks = TASKS.get(value.text)
    if tasks is not None:
        return tasks
    near = nearest_word(value.text, TASKS)
    hint = f"did you mean {quoted(near)}?" if near else f"the tasks are {', '.join(TASKS)}"
    found.append(error(Code.BAD_TASK, value.span, f"there is no task {quoted(value.text)}", hint))
    return Tasks.NONE


def _read_filter_level(value: Value | None, found: list[Diagnostic]) -> int:
    default = FILTER_LEVEL.default
    assert isinstance(default, int)
    if not isinstance(value, Number):
        return default
    if value.text in FILTER_LEVELS:
        return FILTER_LEVELS[value.text]
    if value.text.removeprefix("-").isdigit():
        message = f'there is no "filter_level" {value.text[:20]}'
        found.append(error(Code.BAD_FILTER_LEVEL, value.span, message, "the levels are 0 to 3"))
    else:
        message = f'"filter_level" must be a whole number, not {value.text[:20]}'
        found.append(error(Code.WRONG_TYPE, value.span, message))
    return default
