"""The reference, the tables and the library agree on everything that hypothesis can think of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engines import Query, ask_library, ask_tables, assert_engines_agree, image_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import configs, queries, selections

from atbprobe_rules.check import check_config
from atbprobe_rules.selection import MAX_RULES, Selection


@given(configs, queries)
def test_configs(config: bytes, asked: Sequence[Query]) -> None:
    assert_engines_agree(check_config(config, "config.json").require(), asked)


@given(selections(), queries)
def test_selections(selection: Selection, asked: Sequence[Query]) -> None:
    assert_engines_agree(selection, asked)


@given(selections(), queries)
def test_as_many_rules_as_there_can_be(selection: Selection, asked: Sequence[Query]) -> None:
    rules = (selection.rules * MAX_RULES)[:MAX_RULES]
    numbered = tuple(replace(rule, number=number) for number, rule in enumerate(rules, start=1))
    assert_engines_agree(replace(selection, rules=numbered), asked)


@settings(max_examples=30)
@given(selections(), st.sampled_from([b"0_a", b"/", b"_", b"1_attention/"]), st.integers(1000, 5000))
def test_long_paths(selection: Selection, piece: bytes, count: int) -> None:
    path = b"0_1/0/" + piece * count
    image = image_of(selection)
    # The reference would take too long: its time grows with the square of the depth.
    assert ask_tables(image, [(0, path)]) == ask_library(image, [(0, path)])
