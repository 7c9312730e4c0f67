"""Strategies for texts of the full rules language, and the small part of it that can be tried out whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Config = dict[str, Any]

# Small and large numbers, so that ranges meet paths and bounds.
numbers = st.integers(0, 12) | st.sampled_from([99, 100, 2**32, 2**63, 2**64 - 2, 2**64 - 1])
_steps = st.sampled_from([1, 2, 3, 7])
pairs = st.tuples(numbers, numbers).map(sorted)


def _closed(pair: list[int], step: int | None = None) -> str:
    return f"{pair[0]}-{pair[1]}" + (f"/{step}" if step is not None else "")


_strided = st.builds(_closed, pairs, _steps)
_number = numbers.map(str)
_open = numbers.map(lambda first: f"{first}-")
_open_strided = st.builds(lambda first, step: f"{first}-/{step}", numbers, _steps)
_marks = st.sampled_from(["", "", "", "!"])


def _excludable(terms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, _marks, terms)


rounds = st.one_of(
    st.sampled_from(["all", "all", "none", "5"]),
    st.lists(pairs, min_size=1, max_size=3).map(lambda taken: ",".join(f"{first},{last}" for first, last in taken)),
    st.lists(_excludable(_number | _open | _open_strided | pairs.map(_closed) | _strided), min_size=1, max_size=4).map(
        "|".join
    ),
)
devices = st.lists(_excludable(_number | pairs.map(_closed) | _strided), max_size=3).map(",".join)

_id_component = st.one_of(_number, _number, st.just("*"), _open, pairs.map(_closed), _strided)
_id_path = st.lists(_id_component, min_size=1, max_size=3).map("_".join)
ids = st.lists(st.builds(lambda mark, path, end: mark + path + end, _marks, _id_path, st.sampled_from(["", "", "_**"])))

_wildcards = ["*", "*", "?", "[ab]", "[!a]", "[a-y]", "[é-ü]", "\\*", "\\,", "[,/]", "\\["]
_pieces = st.sampled_from(["a", "b", "ab", "Attn", "mlp", "_", "é", *_wildcards])
_part = st.lists(_pieces, min_size=1, max_size=3).map("".join) | st.just("**")
_words = st.lists(st.sampled_from(["a", "b", "ab", "attn", "mlp"]), min_size=1, max_size=2).map("/".join)
_path = st.lists(_part, min_size=1, max_size=3).map("/".join)
_exact = st.lists(_pieces, min_size=1, max_size=3).map(lambda pieces: "=" + "".join(pieces))
_name = st.one_of(_words, _path, _path.map(lambda path: "/" + path), _exact)
names = st.lists(_excludable(_name), max_size=3)

_bounds = st.sampled_from(["0", "1", "0.5", "65504", "1e4", "2.5E-3", "1e+300", "0e0"])
_condition = st.one_of(
    st.sampled_from(["nan", "NaN", "inf", "INF", "nonfinite"]),
    st.builds(lambda blank, bound: f"abs{blank}>{blank}{bound}", st.sampled_from(["", " "]), _bounds),
)
conditions = st.lists(_condition, min_size=1, max_size=3).map(" | ".join)
sizes = st.one_of(
    numbers.filter(bool),
    st.sampled_from(["1", "7 B", "0.5 KiB", "3MiB", "10 GiB", "1.25 TiB"]),
)

_fields: dict[str, st.SearchStrategy[Any]] = {
    "task": st.sampled_from(["tensor", "statistics", "all"]),
    "ids": ids.map(lambda terms: ", ".join(terms[:3])),
    "op_name": names.map(",".join),
    "save_child": st.booleans(),
    "device": st.just("") | devices,
    "match": st.sampled_from(["any", "any", "all"]),
    "io": st.sampled_from(["in", "out", "both"]),
    "when": conditions,
    "stop_after": numbers.filter(bool),
    "max_bytes": sizes,
    "max_tensor_bytes": sizes,
}


@st.composite
def objects(draw: st.DrawFn, **more: st.SearchStrategy[Any]) -> Config:
    """A config or a rule; one in six has `next`."""
    chosen: Config = draw(st.fixed_dictionaries({}, optional={**_fields, **more}))
    time = draw(st.sampled_from(["rounds", "rounds", "rounds", "rounds", "default", "next"]))
    if time != "default":
        chosen |= {"exec_range": draw(rounds)} if time == "rounds" else {"next": draw(st.integers(1, 3))}
    return chosen


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """A whole config, flat or with rules. It can be refused: "match" may lack a field."""
    config = draw(objects(filter_level=st.integers(0, 3)))
    config["dump_enable"] = draw(st.sampled_from([True, True, True, False]))
    if draw(st.booleans()):
        config["rules"] = draw(st.lists(objects(), min_size=1, max_size=4))
    return config


# ---- a part of the language that is small enough to be tried out whole ----

SMALL_IDS = ["0", "*", "0-1_1", "1_**", "!*_1"]
SMALL_NAMES = ["a", "=a", "*b", "a/b", "/a", "!b", "!/a/=b"]
SMALL_PATHS = [
    f"0_1/0/{'/'.join(path)}".encode()
    for depth, components in ((1, ["0_a", "1_ab", "2_", "x"]), (2, ["0_a", "1_b", "1_ab"]), (3, ["0_a", "1_b"]))
    for path in itertools.product(components, repeat=depth)
]


def small_configs() -> Iterator[Config]:
    """Every config with up to two of the ids and up to two of the names."""
    some_ids = [terms for count in (0, 1, 2) for terms in itertools.combinations(SMALL_IDS, count)]
    some_names = [terms for count in (0, 1, 2) for terms in itertools.combinations(SMALL_NAMES, count)]
    for ids, names, child, match in itertools.product(some_ids, some_names, (False, True), ("any", "all")):
        included = [any(not term.startswith("!") for term in terms) for terms in (ids, names)]
        if match == "any" or all(included):
            yield {
                "dump_enable": True,
                "ids": ",".join(ids),
                "op_name": ",".join(names),
                "save_child": child,
                "match": match,
            }
