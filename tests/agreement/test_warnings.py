"""Warnings are true: whatever one says could be left out can be, alone or with all others, and nothing changes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from whole_run import Execution, Tensor, kept_in_run

from atbprobe_rules.check import CheckedConfig, check_config
from atbprobe_rules.diagnostics import Code, Span
from atbprobe_rules.parse import parse_json
from atbprobe_rules.read_rules import read_selection
from atbprobe_rules.selection import Condition, NumberFilter, Rule, Selection, Tasks
from atbprobe_rules.syntax_tree import Object

Config = dict[str, Any]

# Directories as the host writes them, where every component has an id.
COMPONENTS = ["0_a", "1_b", "2_ab", "1_acb", "10_Kernel"]
QUERIES = [
    (round_number, f"{device}_7/0/{'/'.join(path)}".encode(), earlier)
    for depth in (1, 2, 3)
    for path in itertools.product(COMPONENTS[: 6 - depth], repeat=depth)
    for round_number, device, earlier in ((0, 0, 0), (3, 1, 1), (10, -1, 2))
]
SIZES = itertools.cycle([1, 8, 64, 512, 8, 0, 4096])
VALUES = itertools.cycle([(), (0.5,), (-20.0, 3.0), (math.nan,), (1e6,), (-math.inf,), (1.0, math.nan, math.inf)])
RUN = [
    Execution(*query, (Tensor(next(SIZES)), Tensor(next(SIZES))), (Tensor(next(SIZES), values),))
    for query, values in zip(QUERIES, VALUES, strict=False)
]


def some(*terms: str, separator: str = ",", most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(terms), min_size=1, max_size=most).map(separator.join)


# Terms so few and so alike that most configs have something to warn of.
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "ids": some("1", "0-3", "1_1", "*_1", "1_**", "*", "0-4/2", "!1", "!0-1_1", "!*", "!*_10"),
    "op_name": some("a", "ab", "=a", "a*", "*b", "a/b", "a/ab", "/a", "**/b", "a/**", "**", "!a", "!ab", "!*b", "!**"),
    "save_child": st.booleans(),
    "device": some("0", "0-3", "1-2", "2-8/2", "!0", "!0-3"),
    "match": st.sampled_from(["any", "all"]),
    "io": st.sampled_from(["in", "out", "both"]),
    "task": st.sampled_from(["tensor", "all", "statistics"]),
}
LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "when": some("nan", "NaN", "inf", "nonfinite", "abs > 1", "abs > 1e2", "abs>1.0", separator="|"),
    "stop_after": st.sampled_from([1, 5, 50]),
    "max_bytes": st.sampled_from([1, 600, "4 KiB"]),
    "max_tensor_bytes": st.sampled_from([1, 64, "1 KiB"]),
}
TIMES: st.SearchStrategy[Config] = st.one_of(
    some("0", "0-3", "3-", "0-9/3", "!0", "!0-3", "!0-", separator="|").map(lambda rounds: {"exec_range": rounds}),
    st.sampled_from(["all", "none"]).map(lambda rounds: {"exec_range": rounds}),
    st.integers(1, 3).map(lambda count: {"next": count}),
    st.just({}),
)
unlimited = st.builds(dict.__or__, st.fixed_dictionaries({}, optional=FIELDS), TIMES)
limits = st.fixed_dictionaries({}, optional=LIMITS).filter(bool)
objects = unlimited | st.builds(dict.__or__, unlimited, limits)
configs = st.builds(
    lambda config, rules: {"dump_enable": True, **config, **({"rules": rules} if rules else {})},
    objects,
    st.lists(objects, max_size=4),
)


def check(config: Config) -> CheckedConfig:
    return check_config(json.dumps(config).encode(), "config.json")


def kept(selection: Selection) -> list[tuple[Tasks, ...]]:
    return kept_in_run(selection, RUN)


NOTHING = (Tasks.NONE,) * 3


def spans_of(checked: CheckedConfig, *codes: Code) -> list[Span]:
    return [diagnostic.span for diagnostic in checked.diagnostics if diagnostic.code in codes]


def assert_each_and_all_can_go(
    selection: Selection, spans: list[Span], leave_out: Callable[[Selection, list[Span]], Selection]
) -> None:
    expected = kept(selection)
    for going in (*([span] for span in spans), spans):
        assert kept(leave_out(selection, going)) == expected


def without_terms(selection: Selection, spans: list[Span]) -> Selection:
    """Leave the terms out of every rule that has them."""

    def numbers_of(numbers: NumberFilter) -> NumberFilter:
        included = tuple(term for term in numbers.included if term.span not in spans)
        return replace(numbers, included=included, excluded=tuple(t for t in numbers.excluded if t.span not in spans))

    def rule_of(rule: Rule) -> Rule:
        ids = tuple(term for term in rule.ids if term.span not in spans)
        names = tuple(term for term in rule.names if term.span not in spans)
        when = rule.when and Condition(tuple(term for term in rule.when.terms if term.span not in spans))
        rounds, devices = numbers_of(rule.rounds), numbers_of(rule.devices)
        return replace(rule, ids=ids, names=names, rounds=rounds, devices=devices, when=when)

    return replace(selection, rules=tuple(map(rule_of, selection.rules)))


def without_rules(selection: Selection, spans: list[Span]) -> Selection:
    return replace(selection, rules=tuple(rule for rule in selection.rules if rule.span not in spans))


@given(configs)
def test_terms_that_add_nothing(config: Config) -> None:
    checked = check(config)
    if checked.selection is not None:
        spans = spans_of(checked, Code.DUPLICATE_TERM, Code.SHADOWED_TERM)
        assert_each_and_all_can_go(checked.selection, spans, without_terms)


@given(configs)
def test_terms_that_an_exclusion_takes_away(config: Config) -> None:
    """A field that only excludes means something else, so where nothing else is left the term is looked at alone."""
    checked = check(config)
    if checked.selection is None:
        return
    excluded = spans_of(checked, Code.EXCLUDED_TERM)
    for span, rule in itertools.product(excluded, checked.selection.rules):
        ids = tuple(term for term in rule.ids if term.excluded or term.span == span)
        names = tuple(term for term in rule.names if term.excluded or term.span == span)
        if span in {*(term.span for term in ids), *(term.span for term in names)}:
            alone = replace(rule, ids=ids, names=names, match_all=False)
            assert set(kept(Selection(True, 0, (alone,)))) == {NOTHING}


@given(configs)
def test_rules_that_select_nothing_or_add_nothing(config: Config) -> None:
    checked = check(config)
    if checked.selection is not None and "rules" in config:
        spans = spans_of(checked, Code.DEAD_RULE, Code.SHADOWED_RULE)
        whole = [rule.span for rule in checked.selection.rules if any(is_within(span, rule.span) for span in spans)]
        assert_each_and_all_can_go(checked.selection, whole, without_rules)


@given(unlimited, limits)
def test_a_copy_with_limits_adds_nothing_and_takes_nothing_over(rule: Config, limited: Config) -> None:
    """But for the statistics of large tensors, where the rule itself keeps data alone."""
    copy = {**rule, **limited}
    behind, before = (check({"dump_enable": True, "rules": rules}) for rules in ([rule, copy], [copy, rule]))
    if behind.selection is None or before.selection is None or spans_of(behind, Code.DEAD_RULE):
        return
    adds_statistics = "max_tensor_bytes" in limited and rule.get("task", "tensor") == "tensor"
    shadowed = spans_of(behind, Code.SHADOWED_RULE)
    assert shadowed == ([] if adds_statistics else [behind.selection.rules[1].span])
    assert_each_and_all_can_go(behind.selection, shadowed, without_rules)
    assert not spans_of(before, Code.SHADOWED_RULE)


@given(configs)
def test_limits_that_change_nothing(config: Config) -> None:
    checked = check(config)
    if checked.selection is None:
        return
    value, _ = parse_json(checked.source)
    assert isinstance(value, Object)
    read = read_selection(value, [])

    def without_limits(selection: Selection, spans: list[Span]) -> Selection:
        rules = []
        for rule, text in zip(selection.rules, read.rule_texts, strict=True):
            unused = {name: None for name in ("max_bytes", "max_tensor_bytes") if text.get(name) in spans}
            rules.append(replace(rule, **unused))
        of_all = None if read.text.get("max_bytes") in spans else selection.max_bytes
        return replace(selection, rules=tuple(rules), max_bytes=of_all)

    spans = spans_of(checked, Code.UNUSED_LIMIT)
    assert_each_and_all_can_go(checked.selection, spans, without_limits)
    assert not spans or without_limits(checked.selection, spans) != checked.selection


@given(configs)
def test_a_flat_config_that_selects_nothing(config: Config) -> None:
    checked = check({key: value for key, value in config.items() if key != "rules"})
    if checked.selection is not None and spans_of(checked, Code.DEAD_RULE):
        assert set(kept(checked.selection)) == {NOTHING}


@given(configs)
def test_keys_that_no_rule_inherits(config: Config) -> None:
    checked = check(config)
    if checked.selection is None:
        return
    text = json.dumps(config)
    unused = [
        key
        for key, value in config.items()
        if any(text[: span.offset].endswith(f'"{key}": ') for span in spans_of(checked, Code.UNUSED_KEY))
    ]
    assert len(unused) == len(spans_of(checked, Code.UNUSED_KEY))
    fewer = check({key: value for key, value in config.items() if key not in unused}).require()
    assert kept(fewer) == kept(checked.selection)


@given(configs)
def test_the_rules_to_which_filter_level_applies_stay(config: Config) -> None:
    """It acts below layers that a rule with save_child selects, so such a rule is no part of one without."""
    checked = check(config)
    if checked.selection is None:
        return

    def with_children(selection: Selection) -> list[tuple[Tasks, ...]]:
        return kept(replace(selection, rules=tuple(rule for rule in selection.rules if rule.save_child)))

    spans = spans_of(checked, Code.SHADOWED_RULE)
    assert with_children(without_rules(checked.selection, spans)) == with_children(checked.selection)


def is_within(span: Span, outer: Span) -> bool:
    return outer.offset <= span.offset and span.end <= outer.end


def test_what_one_of_the_rules_needs_is_no_surplus() -> None:
    """Inherited by a rule with save_child and by one without, which needs the second term."""
    rules = [{"save_child": True}, {"exec_range": "5"}]
    assert check({"dump_enable": True, "ids": "2, 2_1", "op_name": "a/b, a/ba", "rules": rules[:1]}).diagnostics
    needed = check({"dump_enable": True, "ids": "2, 2_1", "rules": rules})
    assert needed.diagnostics == ()


def test_a_rule_for_filter_level_is_no_part_of_one_without_children() -> None:
    rules = [{"ids": "*_**"}, {"ids": "2", "save_child": True}, {"ids": "3"}]
    checked = check({"dump_enable": True, "rules": rules})
    assert spans_of(checked, Code.SHADOWED_RULE) == [checked.require().rules[2].span]


def test_every_rule_that_selects_nothing_is_named() -> None:
    """Also where the reason is what they all inherit."""
    checked = check({"dump_enable": True, "exec_range": "0|!0", "rules": [{"ids": "1"}, {"ids": "2"}, {"next": 1}]})
    assert [diagnostic.message for diagnostic in checked.diagnostics] == [
        f'rule "{number}" selects nothing: it takes no round' for number in (1, 2)
    ]
    assert spans_of(checked, Code.DEAD_RULE) == [rule.span for rule in checked.require().rules[:2]]
    assert {related.message for d in checked.diagnostics for related in d.related} == {"inherited from here"}
