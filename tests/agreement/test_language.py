"""The whole language from its text on: all engines agree, and selections change as the language promises."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

from engines import Answer, Query, ask_reference, assert_engines_agree
from hypothesis import assume, given
from hypothesis import strategies as st
from inputs import queries
from language import SMALL_PATHS, Config, configs, small_configs

from atbprobe_rules.check import CheckedConfig, check_config
from atbprobe_rules.diagnostics import Code
from atbprobe_rules.selection import Selection


def check(config: Config) -> CheckedConfig:
    return check_config(json.dumps(config, ensure_ascii=False).encode(), "config.json")


def selection_of(config: Config) -> Selection:
    """Read a config; the one thing that a strategy does not see to is what "match" needs."""
    checked = check(config)
    assume(not any(diagnostic.code is Code.MATCH_NEEDS_BOTH for diagnostic in checked.diagnostics))
    return checked.require()


def kept(answers: Sequence[Answer]) -> list[tuple[int, int]]:
    return [(answer[3], answer[4]) for answer in answers]


def is_part(fewer: Sequence[Answer], more: Sequence[Answer]) -> bool:
    pairs = zip(kept(fewer), kept(more), strict=True)
    return all(few[side] & ~many[side] == 0 for few, many in pairs for side in (0, 1))


@given(configs(), queries)
def test_engines_agree(config: Config, asked: Sequence[Query]) -> None:
    assert_engines_agree(selection_of(config), asked)


def test_engines_agree_on_every_small_config() -> None:
    asked = [(0, path) for path in SMALL_PATHS]
    results = set()
    for config in small_configs():
        answers = assert_engines_agree(check(config).require(), asked)
        results.add(tuple(answer[0] for answer in answers))
    assert len(results) > 150


terms = st.sampled_from(["!0", "!*_1", "!1-2", "!2_**", "!0-9/2"])
names = st.sampled_from(["!a", "!=ab", "!*b", "!a/b", "!/a", "!a/**/b", "!?"])


@given(configs(), queries, terms, names, st.data())
def test_an_exclusion_never_adds(
    config: Config, asked: Sequence[Query], ids: str, op_name: str, data: st.DataObject
) -> None:
    """Neither in the config nor in any of its rules, where it may stand first or last."""
    before = ask_reference(selection_of(config), asked)
    target = data.draw(st.sampled_from([*config.get("rules", []), config]))
    for field, exclusion in (("ids", ids), ("op_name", op_name)):
        written = target.get(field, config.get(field, ""))
        parts = [exclusion, written] if data.draw(st.booleans()) else [written, exclusion]
        target[field] = ",".join(part for part in parts if part.strip())
    assert is_part(ask_reference(selection_of(config), asked), before)


@given(configs(), queries, st.randoms(use_true_random=False))
def test_the_order_of_terms_never_matters(config: Config, asked: Sequence[Query], random: st.Random) -> None:
    """Shown on what was read, where terms are apart; rules keep their numbers."""
    selection = selection_of(config)
    shuffled = []
    for rule in selection.rules:
        ids, op_names = list(rule.ids), list(rule.names)
        random.shuffle(ids)
        random.shuffle(op_names)
        included, excluded = list(rule.rounds.included), list(rule.rounds.excluded)
        random.shuffle(included)
        random.shuffle(excluded)
        rounds = replace(rule.rounds, included=tuple(included), excluded=tuple(excluded))
        shuffled.append(replace(rule, ids=tuple(ids), names=tuple(op_names), rounds=rounds))
    assert assert_engines_agree(replace(selection, rules=tuple(shuffled)), asked) == ask_reference(selection, asked)


simple_ids = st.lists(st.sampled_from(["0", "1", "2-3", "*_1", "0_**", "7-"]), min_size=1, max_size=4)
simple_names = st.lists(st.sampled_from(["a", "=ab", "*b", "a/b", "/mlp", "?"]), min_size=1, max_size=4)
exclusions = st.sampled_from(["", "!*_2", "!1_1"])


@given(simple_ids, simple_names, exclusions, st.booleans(), st.sampled_from(["all", "0-3|7", "!2"]), queries)
def test_a_config_split_into_rules_selects_the_same(
    ids: list[str], op_names: list[str], excluded: str, child: bool, rounds: str, asked: Sequence[Query]
) -> None:
    """Each term in a rule of its own, with what the rules share on top and the exclusions in each."""
    shared = {"dump_enable": True, "exec_range": rounds, "save_child": child}

    def joined(terms: Sequence[str]) -> str:
        return ",".join([*terms, *([excluded] if excluded else [])])

    whole = {**shared, "ids": joined(ids), "op_name": ",".join(op_names)}
    split = [{"ids": joined([term])} for term in ids]
    split += [{"op_name": name, "ids": excluded} for name in op_names]
    flat = ask_reference(check(whole).require(), asked)
    apart = assert_engines_agree(check({**shared, "rules": split}).require(), asked)
    assert kept(apart) == kept(flat)


@given(st.lists(st.sampled_from(["0-3", "5", "10-20/5", "100-"]), min_size=1, max_size=4, unique=True), queries)
def test_rounds_split_into_rules_select_the_same(ranges: list[str], asked: Sequence[Query]) -> None:
    shared = {"dump_enable": True, "save_child": True}
    flat = ask_reference(check({**shared, "exec_range": "|".join(ranges)}).require(), asked)
    rules = [{"exec_range": term} for term in ranges]
    assert kept(assert_engines_agree(check({**shared, "rules": rules}).require(), asked)) == kept(flat)


def test_small_exclusions_whatever_the_order() -> None:
    """Every order of a few terms of both signs, on every small path."""
    asked = [(0, path) for path in SMALL_PATHS]
    for written in (["0", "1_**", "!0_1"], ["*", "!1", "!0_1", "0_2"]):
        expected = None
        for order in itertools.permutations(written):
            config = {"dump_enable": True, "ids": ",".join(order), "save_child": True}
            answers = assert_engines_agree(check(config).require(), asked)
            assert expected is None or answers == expected
            expected = answers
        assert expected is not None and {answer[0] for answer in expected} == {0, 1}
