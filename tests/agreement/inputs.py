"""Strategies for what the engines are asked: configs, selections, and directory strings as bad as can be."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from atbprobe_rules.selection import (
    MAX_NUMBER,
    AnyCharacters,
    AnyDepth,
    Condition,
    ConditionTerm,
    IdTerm,
    Literal,
    NamePart,
    NameTerm,
    NumberFilter,
    NumberRange,
    Rule,
    Selection,
    Tasks,
)
from plain_rules import NOWHERE

# Few and similar, so that terms and paths meet often.
NAMES = ["a", "b", "ab", "aab", "a_b", "Attention", "attn", "MLP", "mlp_gate", "é", "*", "[", "0"]
NUMBERS = [0, 1, 2, 3, 7, 9, 10, 11, 12, 99, 100, 101, 2**32, 2**63, MAX_NUMBER - 1, MAX_NUMBER]
NO_NUMBERS = ["", "01", "00", "-1", "+1", " 1", "1 ", "x", "1x", str(MAX_NUMBER + 1), "9" * 20, "1" * 21, "0" * 30]

numbers = st.sampled_from(NUMBERS) | st.integers(0, 30) | st.integers(0, MAX_NUMBER)
small_numbers = st.sampled_from([0, 1, 2, 3, 10, 11])

# Directory strings

_names = st.sampled_from(NAMES).map(str.encode) | st.sampled_from(NAMES).map(lambda name: name.swapcase().encode())
_bytes_without_slash = st.binary(max_size=8).map(lambda raw: raw.replace(b"/", b"_"))
_wild_names = st.builds(bytes.__add__, _names, _bytes_without_slash) | _bytes_without_slash
_id_texts = small_numbers.map(str) | numbers.map(str) | st.sampled_from(NO_NUMBERS)
_components = st.one_of(
    st.builds(lambda number, name: b"%d_%b" % (number, name), small_numbers, _names),
    st.builds(lambda text, name: text.encode() + b"_" + name, _id_texts, _wild_names),
    _wild_names,
    st.just(b""),
)
_heads = st.one_of(
    st.sampled_from([b"0_1", b"1_27576", b"00_1", b"-1_7", b"_", b"", b"5", b"x_1", b"1x_2", b"2_3_4"]),
    st.just(b"0" * 40 + b"2_1"),
    st.builds(lambda text: text.encode() + b"_1", _id_texts),
    _bytes_without_slash,
)
op_paths = st.lists(_components, min_size=1, max_size=5).map(b"/".join)
directories = st.one_of(
    st.builds(lambda path: b"0_27576/0/" + path, op_paths),
    st.builds(lambda head, path: head + b"/3/" + path, _heads, op_paths),
    st.binary(max_size=24),
)
queries = st.lists(st.tuples(small_numbers | numbers, directories, small_numbers | numbers), min_size=1, max_size=24)

# Configs of the baseline language

_id_terms = st.lists(small_numbers.map(str) | numbers.map(str), min_size=1, max_size=3).map("_".join)
_name_words = st.sampled_from([name for name in NAMES if name not in "*["])
_name_terms = st.lists(_name_words, min_size=1, max_size=3).map("/".join)
_range_pairs = st.lists(st.tuples(numbers, numbers).map(sorted), min_size=1, max_size=4).map(
    lambda pairs: ",".join(f"{first},{last}" for first, last in pairs)
)
configs = st.fixed_dictionaries(
    {
        "dump_enable": st.sampled_from([True, True, True, False]),
        "exec_range": st.sampled_from(["all", "all", "all", "none", "5", "0,0"]) | _range_pairs,
    },
    optional={
        "task": st.sampled_from(["tensor", "statistics", "all"]),
        "ids": st.lists(_id_terms, max_size=4).map(",".join),
        "op_name": st.lists(_name_terms, max_size=4).map(",".join),
        "save_child": st.booleans(),
        "device": st.just("") | st.lists(small_numbers.map(str) | numbers.map(str), max_size=3).map(",".join),
        "filter_level": st.integers(0, 2),
    },
).map(lambda config: json.dumps(config).encode())

# Selections of the whole model, as far as it can be compiled


@st.composite
def number_ranges(draw: st.DrawFn) -> NumberRange:
    first = draw(small_numbers | numbers)
    last = min(MAX_NUMBER, first + draw(st.sampled_from([0, 0, 0, 1, 5, 30, MAX_NUMBER])))
    return NumberRange(first, last, draw(st.sampled_from([1, 1, 2, 3, 7])), NOWHERE)


number_filters = st.builds(
    lambda unlimited, included, excluded: NumberFilter(
        unlimited, () if unlimited else tuple(included), tuple(excluded)
    ),
    st.booleans(),
    st.lists(number_ranges(), max_size=4),
    st.lists(number_ranges(), max_size=2),
)
id_terms = st.builds(
    IdTerm,
    components=st.lists(number_ranges(), min_size=1, max_size=3).map(tuple),
    subtree=st.booleans(),
    excluded=st.sampled_from([False, False, False, True]),
    span=st.just(NOWHERE),
)
_literals = st.sampled_from(NAMES).map(lambda name: Literal(name.encode().lower()))
_atoms = st.lists(_literals, min_size=1, max_size=1) | st.lists(
    _literals | st.just(AnyCharacters()), min_size=1, max_size=3
)
_parts = st.one_of(
    st.builds(NamePart, atoms=_atoms.map(tuple), span=st.just(NOWHERE)),
    st.builds(NamePart, atoms=_atoms.map(tuple), span=st.just(NOWHERE)),
    st.just(AnyDepth(NOWHERE)),
)
name_terms = st.builds(
    NameTerm,
    parts=st.lists(_parts, min_size=1, max_size=4).map(tuple),
    anchored=st.booleans(),
    prefix=st.booleans(),
    excluded=st.sampled_from([False, False, False, True]),
    span=st.just(NOWHERE),
)
_tasks = st.integers(0, 3).map(Tasks)
_bounds = st.floats(0, allow_nan=False, allow_infinity=False)
_nan = ConditionTerm(nan=True, infinity=False, above=None, span=NOWHERE)
_condition_terms = st.just(_nan) | st.builds(
    ConditionTerm, st.booleans(), st.just(True), st.none() | _bounds, st.just(NOWHERE)
)
conditions = st.lists(_condition_terms, min_size=1, max_size=3).map(lambda terms: Condition(tuple(terms)))
_limits = st.none() | st.none() | st.sampled_from([1, 4096, MAX_NUMBER])


@st.composite
def selections(draw: st.DrawFn) -> Selection:
    number_of_rules = draw(st.integers(1, 4))
    rules = tuple(
        Rule(
            number=number + 1,
            name=draw(st.none() | st.just(f"rule {number}")),
            tasks_in=draw(_tasks),
            tasks_out=draw(_tasks),
            rounds=draw(number_filters),
            devices=draw(st.just(NumberFilter(True)) | number_filters),
            ids=tuple(draw(st.lists(id_terms, max_size=3))),
            names=tuple(draw(st.lists(name_terms, max_size=3))),
            save_child=draw(st.booleans()),
            match_all=draw(st.booleans()),
            span=NOWHERE,
            next=draw(st.none() | st.none() | st.sampled_from([1, 2, 3, 11, MAX_NUMBER])),
            when=draw(st.none() | st.none() | conditions),
            stop_after=draw(_limits),
            max_bytes=draw(_limits),
            max_tensor_bytes=draw(_limits),
        )
        for number in range(number_of_rules)
    )
    dump_enable, filter_level = draw(st.sampled_from([True, True, True, False])), draw(st.integers(0, 3))
    return Selection(dump_enable, filter_level, rules, draw(_limits))
