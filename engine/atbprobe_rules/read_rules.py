"""From the objects of a config to its rules: what each field means, and what a rule inherits.

A field that several rules inherit is read once, so that its mistakes show once, in the place where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from atbprobe_rules.conditions import read_condition
from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Span, error, quoted
from atbprobe_rules.fields import (
    DEVICE,
    DUMP_ENABLE,
    EXEC_RANGE,
    FIELDS,
    FILTER_LEVEL,
    IDS,
    IO,
    MATCH,
    MAX_BYTES,
    MAX_TENSOR_BYTES,
    NAME,
    NEXT,
    OP_NAME,
    RULES,
    SAVE_CHILD,
    STOP_AFTER,
    TASK,
    WHEN,
    Field,
    Place,
)
from atbprobe_rules.members import read_members, type_name
from atbprobe_rules.name_terms import read_names
from atbprobe_rules.number_terms import EVERYTHING, read_devices, read_ids, read_rounds
from atbprobe_rules.scalars import (
    MATCHES,
    SIDES,
    TASKS,
    read_count,
    read_filter_level,
    read_size,
    read_word,
)
from atbprobe_rules.selection import MAX_RULES, NumberFilter, NumberRange, Rule, Selection, Tasks
from atbprobe_rules.syntax_tree import Array, Boolean, Invalid, Number, Object, String, Value

ValueT = TypeVar("ValueT", Boolean, Number, String)

Values = dict[str, Value]
"""Of an object the values of its fields, by name."""


RuleText = dict[str, Span]
"""Of an object, or of a rule with what it inherits, the places of the values, by name of field."""


@dataclass(frozen=True)
class ReadConfig:
    """A selection, where the config's own values stand, and where those of each rule."""

    selection: Selection
    text: RuleText
    rule_texts: tuple[RuleText, ...]


def read_selection(config: Object, found: list[Diagnostic]) -> ReadConfig:
    """Read a whole config; if anything is appended to `found`, the result means nothing."""
    return _Reader(found).read(config)


class _Reader:
    """Reads fields of objects; what was read of a value is kept."""

    def __init__(self, found: list[Diagnostic]) -> None:
        self._found = found
        self._read: dict[int, Any] = {}
        self._rule_texts: list[RuleText] = []

    def read(self, config: Object) -> ReadConfig:
        values = read_members(config, Place.TOP, self._found)
        self._read_all(values)
        array = values.get(RULES.name)
        if isinstance(array, Array):
            rules = tuple(self._rules(array, values))
            max_bytes = self._field(MAX_BYTES, values)
        else:
            rules = (self._rule(1, None, values, config.span),)
            max_bytes = None  # it is the rule's own
        dump_enable = self._field(DUMP_ENABLE, values)
        filter_level = self._field(FILTER_LEVEL, values)
        selection = Selection(dump_enable, filter_level, rules, max_bytes)
        return ReadConfig(selection, _places(values), tuple(self._rule_texts))

    def _rules(self, array: Array, config: Values) -> Iterator[Rule]:
        if not array.items:
            message = '"rules" has no rule in it'
            self._found.append(error(Code.NO_RULES, array.span, message, "to stop dumping, write dump_enable false"))
        if len(array.items) > MAX_RULES:
            message = f'"rules" has {len(array.items)} rules, and {MAX_RULES} is the most'
            self._found.append(error(Code.TOO_MANY_RULES, array.items[MAX_RULES].span, message))
        inherited = {name: value for name, value in config.items() if FIELDS[name].inherited}
        names: dict[str, String] = {}
        for number, item in enumerate(array.items[:MAX_RULES], 1):
            if not isinstance(item, Object):
                if not isinstance(item, Invalid):
                    message = f"a rule is an object, not {type_name(item)}"
                    self._found.append(error(Code.WRONG_TYPE, item.span, message))
                continue
            own = read_members(item, Place.RULE, self._found)
            self._read_all(own)
            yield self._rule(number, self._rule_name(own, names), {**_left_of(inherited, own), **own}, item.span)

    def _read_all(self, values: Values) -> None:
        """Read every field of an object, also those that no rule comes to use."""
        for name, value in values.items():
            if name not in (NAME.name, RULES.name):
                self._value(FIELDS[name], value)
        if NEXT.name in values and EXEC_RANGE.name in values:
            first, second = sorted((values[NEXT.name], values[EXEC_RANGE.name]), key=lambda value: value.span)
            message = '"next" stands in place of "exec_range", and here are both'
            related = Related(first.span, "the other one")
            self._found.append(error(Code.CONFLICTING_KEYS, second.span, message, None, related))

    def _rule(self, number: int, name: str | None, values: Values, span: Span) -> Rule:
        tasks: Tasks = self._field(TASK, values)
        wants_inputs, wants_outputs = self._field(IO, values)
        rule = Rule(
            number=number,
            name=name,
            tasks_in=tasks if wants_inputs else Tasks.NONE,
            tasks_out=tasks if wants_outputs else Tasks.NONE,
            rounds=EVERYTHING if NEXT.name in values else self._field(EXEC_RANGE, values),
            devices=self._field(DEVICE, values),
            ids=self._field(IDS, values),
            names=self._field(OP_NAME, values),
            save_child=self._field(SAVE_CHILD, values),
            match_all=self._field(MATCH, values),
            span=span,
            next=self._field(NEXT, values),
            when=self._field(WHEN, values),
            stop_after=self._field(STOP_AFTER, values),
            max_bytes=self._field(MAX_BYTES, values),
            max_tensor_bytes=self._field(MAX_TENSOR_BYTES, values),
        )
        if rule.match_all:
            self._check_match(rule, values)
        self._rule_texts.append(_places(values))
        return rule

    def _check_match(self, rule: Rule, values: Values) -> None:
        """With "match": "all" both fields must say what they take."""
        lacking = []
        for field, terms in ((IDS, rule.ids), (OP_NAME, rule.names)):
            value = values.get(field.name)
            was_refused = isinstance(value, String) and value.text.strip() and not terms
            if not was_refused and all(term.excluded for term in terms):
                lacking.append(f"{quoted(field.name)} {'only excludes' if terms else 'is empty'}")
        if not lacking:
            return
        match = values[MATCH.name]
        is_own = rule.span.offset <= match.span.offset < rule.span.end
        place = match.span if is_own else rule.span
        related = () if is_own else (Related(match.span, "inherited from here"),)
        message = f'"match": "all" needs terms in "ids" and in "op_name", and {" and ".join(lacking)}'
        self._found.append(error(Code.MATCH_NEEDS_BOTH, place, message, None, *related))

    def _rule_name(self, values: Values, names: dict[str, String]) -> str | None:
        value = values.get(NAME.name)
        if not isinstance(value, String):
            return None
        if not value.text.strip():
            self._found.append(error(Code.BAD_NAME, value.span, "a name is missing here", "leave the key out"))
        elif value.text.isdecimal():
            message = f"{quoted(value.text)} has only digits, as the numbers of rules without a name have"
            self._found.append(error(Code.BAD_NAME, value.span, message))
        earlier = names.setdefault(value.text, value)
        if earlier is not value:
            related = Related(earlier.span, "first given here")
            message = f"there is a rule {quoted(value.text)} already"
            self._found.append(error(Code.DUPLICATE_NAME, value.span, message, None, related))
        return value.text

    def _field(self, field: Field, values: Values) -> Any:
        value = values.get(field.name)
        return self._value(field, value) if value is not None else _DEFAULTS[field.name]

    def _value(self, field: Field, value: Value) -> Any:
        """Return what a value means in its field; where that is nothing, what keeps the rest readable."""
        key = id(value)
        if key not in self._read:
            meaning = _READERS[field.name](value, self._found)
            self._read[key] = _DEFAULTS[field.name] if meaning is None else meaning
        return self._read[key]


def _places(values: Values) -> RuleText:
    return {name: value.span for name, value in values.items()}


def _left_of(inherited: Values, own: Values) -> Values:
    """Leave out the inherited one of exec_range and next if the rule has the other of its own."""
    replaced = {EXEC_RANGE.name: NEXT.name, NEXT.name: EXEC_RANGE.name}
    return {name: value for name, value in inherited.items() if replaced.get(name) not in own}


def _boolean(value: Boolean, _found: list[Diagnostic]) -> bool:
    return value.value


def _of(
    kind: type[ValueT], read: Callable[[ValueT, list[Diagnostic]], Any]
) -> Callable[[Value, list[Diagnostic]], Any]:
    """Return `read` for any value; what comes is of its kind, since the type was looked at before (members.py)."""

    def read_value(value: Value, found: list[Diagnostic]) -> Any:
        assert isinstance(value, kind)
        return read(value, found)

    return read_value


_READERS: dict[str, Callable[[Value, list[Diagnostic]], Any]] = {
    TASK.name: _of(String, lambda value, found: read_word(value, TASK, TASKS, Code.BAD_TASK, found)),
    DUMP_ENABLE.name: _of(Boolean, _boolean),
    EXEC_RANGE.name: _of(String, read_rounds),
    NEXT.name: _of(Number, lambda value, found: read_count(value, NEXT, found)),
    IDS.name: _of(String, read_ids),
    OP_NAME.name: _of(String, read_names),
    SAVE_CHILD.name: _of(Boolean, _boolean),
    DEVICE.name: _of(String, read_devices),
    MATCH.name: _of(String, lambda value, found: read_word(value, MATCH, MATCHES, Code.BAD_MATCH, found)),
    IO.name: _of(String, lambda value, found: read_word(value, IO, SIDES, Code.BAD_IO, found)),
    FILTER_LEVEL.name: _of(Number, read_filter_level),
    WHEN.name: _of(String, read_condition),
    STOP_AFTER.name: _of(Number, lambda value, found: read_count(value, STOP_AFTER, found)),
    MAX_BYTES.name: lambda value, found: read_size(value, MAX_BYTES, found),
    MAX_TENSOR_BYTES.name: lambda value, found: read_size(value, MAX_TENSOR_BYTES, found),
}

_DEFAULTS: dict[str, Any] = {
    **{field.name: field.default for field in (DUMP_ENABLE, FILTER_LEVEL, SAVE_CHILD)},
    TASK.name: TASKS[str(TASK.default)],
    EXEC_RANGE.name: NumberFilter(unlimited=False, included=(NumberRange(0, 0, 1, Span(0, 0)),)),
    IDS.name: (),
    OP_NAME.name: (),
    DEVICE.name: EVERYTHING,
    MATCH.name: MATCHES[str(MATCH.default)],
    IO.name: SIDES[str(IO.default)],
    **{field.name: field.default for field in (NEXT, WHEN, STOP_AFTER, MAX_BYTES, MAX_TENSOR_BYTES)},
}
