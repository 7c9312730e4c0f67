"""From a JSON object of the config to the values of its fields: known keys, each once, of the right type."""

from __future__ import annotations

from collections.abc import Collection

from atbprobe_rules.diagnostics import Code, Diagnostic, Related, error, quoted
from atbprobe_rules.fields import FIELDS, FORMER_NAMES, RULES, Field, FieldType, Place, fields_of, nearest_word
from atbprobe_rules.number_terms import MAX_MARKS, is_too_large
from atbprobe_rules.syntax_tree import Array, Boolean, Invalid, Null, Number, Object, String, Value

_CLASSES: dict[FieldType, tuple[type[object], ...]] = {
    FieldType.STRING: (String,),
    FieldType.BOOLEAN: (Boolean,),
    FieldType.INTEGER: (Number,),
    FieldType.SIZE: (Number, String),
    FieldType.RULES: (Array,),
}

_UNQUOTED: dict[FieldType, Collection[str]] = {
    FieldType.BOOLEAN: ("true", "false"),
    FieldType.INTEGER: tuple(map(str, range(10))),
}
"""What was probably meant to stand without its quotes."""

_TYPE_NAMES: dict[type[object], str] = {
    Null: "null",
    Boolean: "true or false",
    Number: "a number",
    String: "a string",
    Array: "an array",
    Object: "an object",
}


def type_name(value: Value) -> str:
    """Return what to call the JSON type of a value in a message."""
    return _TYPE_NAMES[type(value)]


def read_members(obj: Object, place: Place, found: list[Diagnostic]) -> dict[str, Value]:
    """Return, by name of field, the values that can be read; everything else is appended to `found`."""
    values: dict[str, Value] = {}
    first: dict[str, String] = {}
    for member in obj.members:
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
            found.append(_unknown_key(key, place))
        elif place not in field.place:
            found.append(_misplaced_key(key, place))
        elif _has_type(value, field, place, found) and _has_size(value, field, found):
            values[field.name] = value
    return values


def _unknown_key(key: String, place: Place) -> Diagnostic:
    name = quoted(key.text)
    former = FORMER_NAMES.get(key.text.lower().replace("-", "_"))
    near = nearest_word(key.text, fields_of(place))
    if former is not None:
        hint = f"it is called {quoted(former)} today"
    elif near is not None:
        hint = f"did you mean {quoted(near)}?"
    else:
        hint = f"the keys are {', '.join(fields_of(place))}"
    return error(Code.UNKNOWN_KEY, key.span, f"there is no key {name}", hint)


def _misplaced_key(key: String, place: Place) -> Diagnostic:
    name = quoted(key.text)
    if place is Place.TOP:
        message = f'{name} belongs in an object of "rules"'
        return error(Code.MISPLACED_KEY, key.span, message)
    if key.text == RULES.name:
        return error(Code.MISPLACED_KEY, key.span, "a rule has no rules of its own")
    message = f"{name} cannot differ from rule to rule"
    return error(Code.MISPLACED_KEY, key.span, message, 'write it beside "rules", for all of them')


def _has_type(value: Value, field: Field, place: Place, found: list[Diagnostic]) -> bool:
    if isinstance(value, Invalid):
        return False
    if isinstance(value, _CLASSES[field.type]):
        return True
    hint = None
    if isinstance(value, Null):
        inherits = place is Place.RULE and field.inherited
        hint = f"leave the key out for {'what stands beside the rules' if inherits else 'the default'}"
    elif field.type is FieldType.STRING and isinstance(value, Number):
        hint = f"write {quoted(value.text)}"
    elif isinstance(value, String) and value.text.lower() in _UNQUOTED.get(field.type, ()):
        hint = f"write {value.text.lower()} without quotes"
    elif field.type is FieldType.RULES and isinstance(value, Object):
        hint = "put the rule into [ ]"
    message = f"{quoted(field.name)} must be {field.type.value}, not {type_name(value)}"
    found.append(error(Code.WRONG_TYPE, value.span, message, hint))
    return False


def _has_size(value: Value, field: Field, found: list[Diagnostic]) -> bool:
    if not isinstance(value, String) or not is_too_large(value):
        return True
    message = f"{quoted(field.name)} has more than {MAX_MARKS} terms and parts of terms"
    found.append(error(Code.TOO_LARGE, value.span, message))
    return False
