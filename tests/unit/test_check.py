from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import atbprobe_rules
from atbprobe_rules import ConfigError, parse_config
from atbprobe_rules.check import MAX_BYTES, CheckedConfig, check_config
from atbprobe_rules.diagnostics import Code, Severity, Span
from atbprobe_rules.fields import FIELDS, FORMER_NAMES, FieldType, nearest_word
from atbprobe_rules.number_terms import MAX_MARKS
from atbprobe_rules.parse import MAX_TOKENS
from atbprobe_rules.selection import MAX_NUMBER, Literal, NamePart, NumberFilter, Rule, Tasks
from case_file import Case, diagnostics_of, load_cases

numbers = st.integers(0, 12) | st.integers(0, MAX_NUMBER)
blanks = st.text(alphabet=" \t\r\n", max_size=2)
words = st.text(st.characters(exclude_characters="*?[\\,/", exclude_categories=["Cs"]), min_size=1).filter(
    lambda word: word.strip(" \t\r\n") == word and word[0] not in "!="
)
pairs = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))

# Of each string field the meaning, and its text without blanks.
rounds = st.one_of(
    st.sampled_from(["all", "none", "ALL", "None"]).map(lambda word: (word.lower(), [word])),
    numbers.map(lambda number: ([(number, number)], [str(number)])),
    st.lists(pairs, min_size=1, max_size=4).map(
        lambda taken: (taken, [str(bound) for pair in taken for bound in pair])
    ),
)
id_paths = st.lists(st.lists(numbers, min_size=1, max_size=4), max_size=4)
name_paths = st.lists(st.lists(words, min_size=1, max_size=3), max_size=4)
devices = st.lists(numbers, max_size=4)


def read(config: dict[str, Any]) -> Rule:
    selection = check_config(json.dumps(config).encode(), "f").require()
    assert len(selection.rules) == 1
    return selection.rules[0]


def bounds(numbers: NumberFilter) -> list[tuple[int, int]]:
    assert not numbers.unlimited and not numbers.excluded
    assert all(r.step == 1 for r in numbers.included)
    return [(r.first, r.last) for r in numbers.included]


def words_of(rule: Rule) -> list[list[bytes]]:
    paths = []
    for term in rule.names:
        assert term.prefix and not term.anchored and not term.excluded
        path = []
        for part in term.parts:
            assert isinstance(part, NamePart)
            (word,) = part.atoms
            assert isinstance(word, Literal)
            path.append(word.folded)
        paths.append(path)
    return paths


def codes(checked: CheckedConfig) -> list[Code]:
    return [diagnostic.code for diagnostic in checked.diagnostics]


@pytest.mark.parametrize("case", load_cases("diagnostics"), ids=lambda case: case.name)
def test_diagnostics(case: Case) -> None:
    for config in case.configs:
        checked = check_config(config, "config.json")
        assert diagnostics_of(checked) == case.diagnostics
        assert checked.ok == all(d.severity is Severity.WARNING for d in checked.diagnostics)


@given(
    st.sampled_from(["tensor", "statistics", "all"]),
    st.booleans(),
    rounds,
    id_paths,
    name_paths,
    st.booleans(),
    devices,
    st.integers(0, 2),
    st.data(),
)
def test_a_valid_config_is_read_as_it_is_meant(
    task: str,
    dump_enable: bool,
    rounds: tuple[Any, list[str]],
    ids: list[list[int]],
    names: list[list[str]],
    save_child: bool,
    devices: list[int],
    filter_level: int,
    data: st.DataObject,
) -> None:
    """With blanks of any kind and number around the terms, which change nothing."""

    def text_of(terms: list[str]) -> str:
        return ",".join(data.draw(blanks) + term + data.draw(blanks) for term in terms)

    config = {
        "task": task,
        "dump_enable": dump_enable,
        "exec_range": text_of(rounds[1]),
        "ids": text_of(["_".join(map(str, path)) for path in ids]),
        "op_name": text_of(["/".join(path) for path in names]),
        "save_child": save_child,
        "device": text_of([str(device) for device in devices]),
        "filter_level": filter_level,
    }
    ascii_only = data.draw(st.booleans())
    checked = check_config(json.dumps(config, ensure_ascii=ascii_only).encode(), "f")
    selection = checked.require()
    assert (selection.dump_enable, selection.filter_level) == (dump_enable, filter_level)
    (rule,) = selection.rules
    tasks = {"tensor": Tasks.TENSOR, "statistics": Tasks.STATISTICS, "all": Tasks.TENSOR | Tasks.STATISTICS}
    assert rule.tasks_in == rule.tasks_out == tasks[task]
    assert rule.save_child == save_child
    assert not rule.match_all
    if rounds[0] == "all":
        assert rule.rounds == NumberFilter(unlimited=True)
    else:
        assert bounds(rule.rounds) == ([] if rounds[0] == "none" else rounds[0])
    if devices:
        assert bounds(rule.devices) == [(device, device) for device in devices]
    else:
        assert rule.devices == NumberFilter(unlimited=True)
    assert [[r.first for r in term.components] for term in rule.ids] == ids
    assert all(r.first == r.last and r.step == 1 for term in rule.ids for r in term.components)
    assert not any(term.subtree or term.excluded for term in rule.ids)
    assert words_of(rule) == [[word.encode().lower() for word in path] for path in names]


def test_every_term_keeps_the_place_it_came_from() -> None:
    text = '{"ids": " 0, \\u0032_1", "op_name": "a/b ,c", "device": "3", "exec_range": "1, 2"}'
    checked = parse_config(text)
    (rule,) = checked.require().rules
    assert [checked.source.slice(term.span) for term in rule.ids] == ["0", "\\u0032_1"]
    assert [checked.source.slice(r.span) for r in rule.ids[1].components] == ["\\u0032", "1"]
    assert [checked.source.slice(term.span) for term in rule.names] == ["a/b", "c"]
    assert [checked.source.slice(part.span) for part in rule.names[0].parts] == ["a", "b"]
    assert [checked.source.slice(r.span) for r in rule.devices.included] == ["3"]
    assert [checked.source.slice(r.span) for r in rule.rounds.included] == ["1, 2"]
    assert rule.span == Span(0, len(text))


@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda text: f'{{"ids": "{text}"}}'.encode()))
def test_any_bytes_are_taken_or_refused_with_a_reason(data: bytes) -> None:
    checked = check_config(data, "f")
    errors = [d for d in checked.diagnostics if d.severity is Severity.ERROR]
    assert checked.ok == (not errors)
    assert json.loads(json.dumps(checked.to_json()))["ok"] == checked.ok
    assert bool(checked.render()) == bool(checked.diagnostics)


@given(
    st.sampled_from(["exec_range", "ids", "op_name", "device", "when"]),
    st.text(alphabet="0123_,-*/!=|[]?\\ aln+.", max_size=12),
)
def test_any_value_of_a_string_field_is_taken_or_refused_within_it(field: str, text: str) -> None:
    config = json.dumps({field: text})
    checked = parse_config(config)
    start = config.index(json.dumps(text), len(field) + 2)
    for diagnostic in checked.diagnostics:
        assert start <= diagnostic.span.offset <= diagnostic.span.end <= len(config) - 1
    if checked.ok:
        # What is taken is of the baseline language, and no term was dropped on the way.
        (rule,) = checked.require().rules
        count = {"ids": len(rule.ids), "op_name": len(rule.names), "device": len(rule.devices.included)}
        count["when"] = text.count(",") + 1  # its separator is another one
        assert field == "exec_range" or count[field] == (text.count(",") + 1 if text.strip() else 0)
        assert not set(text) & set("*?[\\|!=+") or field == "op_name"


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(list(FIELDS)), st.none() | st.integers() | st.text()))
def test_only_known_keys_of_the_right_type_are_taken(config: dict[str, Any]) -> None:
    checked = parse_config(json.dumps(config))
    types: dict[FieldType, tuple[type, ...]] = {
        FieldType.STRING: (str,),
        FieldType.INTEGER: (int,),
        FieldType.SIZE: (int, str),
    }
    if checked.ok:
        assert all(isinstance(value, types.get(FIELDS[key].type, ())) for key, value in config.items())


def test_errors_come_in_the_order_of_the_file() -> None:
    checked = parse_config('{"ids": "x,,01", "a": 1, "task": "b", "ids": 3, "device": "-1"} c')
    offsets = [diagnostic.span.offset for diagnostic in checked.diagnostics]
    assert len(offsets) == 9
    assert offsets == sorted(offsets)


def test_a_file_of_the_largest_size_is_taken_and_a_larger_one_is_not() -> None:
    config = b'{"ids": "2"}'
    assert check_config(config.ljust(MAX_BYTES), "f").ok
    assert codes(check_config(config.ljust(MAX_BYTES + 1), "f")) == [Code.TOO_LARGE]


@pytest.mark.parametrize(
    "config",
    [
        '{"exec_range": "' + "0," * 500_000 + '0"}',
        '{"ids": "' + "0_" * 500_000 + '0"}',
        '{"op_name": "' + "a*" * 500_000 + '"}',
        '{"op_name": "' + "a/" * 500_000 + 'a"}',
        '{"a": [' + "0," * 500_000 + "0]}",
    ],
)
def test_a_file_full_of_pieces_is_refused_before_they_are_read(config: str) -> None:
    assert Code.TOO_LARGE in codes(parse_config(config))


EVEN = [str(2 * number) for number in range(30_000)]
LONG = ["*" + "?*" * 450 + str(number) for number in range(32)]
STRIDES = [f"{number}-9999999/{number + 2}" for number in range(15_000)]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"exec_range": "|".join([*EVEN, *("!" + number for number in EVEN)])}, {Code.DEAD_RULE}),
        ({"device": ",".join([*EVEN, *("!" + number for number in EVEN)])}, {Code.DEAD_RULE}),
        ({"exec_range": "|".join([*STRIDES, *("!" + stride for stride in STRIDES)])}, {Code.SHADOWED_TERM}),
        ({"exec_range": "|".join(EVEN), "rules": [{"ids": str(number)} for number in range(64)]}, set()),
        (
            {"exec_range": "|".join(STRIDES), "rules": [{"ids": str(number)} for number in range(64)]},
            {Code.SHADOWED_TERM},
        ),
        ({"op_name": ",".join(LONG)}, set()),
        ({"op_name": ",".join([*LONG, *("!" + name for name in LONG)])}, set()),
        ({"rules": [{"op_name": name} for name in LONG]}, set()),
        ({"op_name": ",".join(["*a" * 15_000 + "b", "*a" * 15_000 + "c"])}, set()),
        ({"ids": ",".join(EVEN), "rules": [{"exec_range": str(number)} for number in range(64)]}, set()),
        ({"ids": ",".join(f"{number}-9" for number in range(10)), "op_name": ",".join(LONG)}, {Code.SHADOWED_TERM}),
        ({"when": "|".join(f"abs > {number}" for number in reversed(range(60_000)))}, {Code.SHADOWED_TERM}),
    ],
    ids=[
        *("rounds", "devices", "strides", "inherited rounds", "inherited strides", "patterns", "excluded patterns"),
        *("rules of patterns", "two long patterns", "inherited ids", "ids beside patterns", "bounds"),
    ],
)
def test_warnings_of_large_configs_are_looked_for_no_longer_than_it_takes_to_read_them(
    config: dict[str, Any], expected: set[Code]
) -> None:
    """Comparing each with each would take minutes here, so what costs too much is not compared."""
    assert set(codes(parse_config(json.dumps({"dump_enable": True, **config})))) == expected


def test_as_many_terms_as_a_model_can_have_are_taken() -> None:
    ids = ",".join(map(str, range(5000)))
    assert ids.count(",") < MAX_MARKS
    assert len(read({"ids": ids}).ids) == 5000


def test_keys_up_to_the_limit_of_a_file_are_all_reported() -> None:
    count = MAX_TOKENS // 4 - 1
    checked = parse_config("{" + ",".join(f'"k{i}": 0' for i in range(count)) + "}")
    assert codes(checked) == [Code.UNKNOWN_KEY] * count


@pytest.mark.parametrize("former", [*FORMER_NAMES, "--save-operation-ids", "ER"])
def test_former_names_lead_to_names_of_today(former: str) -> None:
    (diagnostic,) = parse_config(json.dumps({former.removeprefix("--"): "0"})).diagnostics
    assert diagnostic.code is Code.UNKNOWN_KEY
    assert diagnostic.hint in {f'it is called "{name}" today' for name in FIELDS}


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("exec_rage", "exec_range"),
        ("exce_range", "exec_range"),
        ("Op_Name", "op_name"),
        ("save_childs", "save_child"),
        ("filter", "filter_level"),
        ("dump_enabled", "dump_enable"),
        ("devices", "device"),
        ("idx", "ids"),
        ("verbose", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_the_nearest_word_is_near(word: str, near: str | None) -> None:
    assert nearest_word(word, FIELDS) == near


# The public surface


def test_a_refused_config_raises_on_demand() -> None:
    checked = parse_config('{"task": "stats"}', "config.json")
    with pytest.raises(ConfigError, match=r'config\.json:1:10: error\[bad-task\]: there is no task "stats"') as raised:
        checked.require()
    assert raised.value.checked is checked


@pytest.mark.parametrize("text", ["{}", b"{}", b"\xef\xbb\xbf{}", "\ufeff{}"])
def test_text_and_bytes_are_both_taken(text: str | bytes) -> None:
    assert parse_config(text).ok


def test_text_that_has_no_bytes_is_refused() -> None:
    assert codes(parse_config('{"ids": "\ud800"}')) == [Code.NOT_UTF8]


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, atbprobe_rules; atbprobe_rules.__version__;"
        "print([name for name in ('lark', 'numpy', 'ml_dtypes', 'click', 'rich', 'watchdog') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_all_public_names_are_there() -> None:
    for name in atbprobe_rules.__all__:
        assert getattr(atbprobe_rules, name) is not None
    with pytest.raises(AttributeError):
        _ = atbprobe_rules.no_such_name
