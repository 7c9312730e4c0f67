"""What the compiler makes of rules: small tables, shared runs of positions, and a clear word when it is too much."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from atbprobe_rules import compiler, pattern
from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import ProgramTooLargeError, compile_selection
from atbprobe_rules.diagnostics import Span
from atbprobe_rules.evaluate import decide_many
from atbprobe_rules.image import encode
from atbprobe_rules.program import Program
from atbprobe_rules.selection import MAX_NUMBER, IdTerm, NameTerm, Rule, Selection
from plain_rules import condition, id_term, name_term, numbers, part, plain_rule

HASH = bytes(32)


def rule(number: int, names: tuple[NameTerm, ...] = (), ids: tuple[IdTerm, ...] = ()) -> Rule:
    return plain_rule(number, names=names, ids=ids, span=Span(number, 5))


def compiled(*rules: Rule) -> Program:
    return compile_selection(Selection(True, 1, rules), HASH)


def compiled_config(text: bytes) -> Program:
    return compile_selection(check_config(text, "config.json").require(), HASH)


def test_no_terms_need_no_automaton() -> None:
    program = compiled(rule(1))
    record = program.program[0]
    assert (record["id_class_count"], record["name_class_count"]) == (0, 0)
    assert len(program.id_states) == len(program.name_states) == 0
    assert (record["select_layers"], record["select_all"]) == (1, 0)


def test_equal_terms_of_several_rules_share_a_run() -> None:
    term = name_term(part("prefill_layer"), part("attention"))
    one, many = compiled(rule(1, (term,))), compiled(*(rule(number, (term,)) for number in range(1, 65)))
    assert len(one.path_words) == len(many.path_words) == 1
    assert one.path_words["start"][0] == many.path_words["start"][0]
    assert many.path_accepts["here"].tolist() == [2**64 - 1]


def test_the_end_of_one_run_does_not_lead_into_an_anchored_one() -> None:
    program = compiled(rule(1, (name_term(part("a"), part("b")), name_term(part("c"), anchored=True))))
    decisions = decide_many(program, [0, 0], [b"0_1/0/0_a/0_b/0_c", b"0_1/0/0_c"])
    assert decisions["rules"].tolist() == [0, 1]


def test_runs_go_on_from_word_to_word() -> None:
    words = [f"part{number}" for number in range(150)]
    program = compiled(rule(1, (name_term(*map(part, words)),)))
    assert len(program.path_words) == 3
    path = "/".join(f"0_{word}" for word in words)
    shorter = path.rsplit("/", 1)[0]
    decisions = decide_many(program, [0, 0, 0], [f"0_1/0/{path}", f"0_1/0/0_x/{path}", f"0_1/0/{shorter}"])
    assert decisions["rules"].tolist() == [1, 1, 0]


def test_a_thousand_prefixes_in_64_rules() -> None:
    terms = [name_term(part(f"{chr(97 + number % 26)}{number * 7919}layer")) for number in range(1000)]
    program = compiled(*(rule(number + 1, tuple(terms[number::64])) for number in range(64)))
    assert len(program.name_states) < 10_000
    decisions = decide_many(program, [0, 0], ["0_1/0/3_A0Layer_and_more", "0_1/0/3_a0laye"])
    assert decisions["rules"].tolist() == [1, 0]


def test_rules_have_their_numbers_for_names() -> None:
    program = compiled(rule(1), rule(2))
    assert program.rule_names == ("1", "2")
    assert program.rule_name_records[["source_offset", "source_length"]].tolist() == [(1, 5), (2, 5)]


def test_nothing_is_enabled_while_dumping_is_off() -> None:
    program = compiled_config(b'{"dump_enable": false, "exec_range": "all", "save_child": true}')
    assert program.program["enabled_rules"][0] == 0
    decisions = decide_many(program, [0], ["0_1/0/0_a"])
    assert decisions.tolist() == [(0, 0, 0, 0, 0)]


def test_too_many_parts_name_the_costliest_term() -> None:
    long_term = name_term(*(part(f"p{number}") for number in range(400)))
    others = tuple(name_term(part(f"a{number}"), part("b")) for number in range(2000))
    with pytest.raises(ProgramTooLargeError, match="4096 parts") as caught:
        compiled(rule(1, (*others, long_term)))
    assert caught.value.term is long_term


def test_a_stride_that_needs_too_many_states_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "MAX_POSITIONS", 5000)
    single = id_term(7)
    stride = id_term(numbers(0, MAX_NUMBER, 997))
    with pytest.raises(ProgramTooLargeError, match="5000 positions") as caught:
        compiled(rule(1, ids=(single, stride)))
    assert caught.value.term is stride


def test_an_image_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MAX_IMAGE_BYTES", 1000)
    with pytest.raises(ProgramTooLargeError, match="of 1000 bytes") as caught:
        compiled(rule(1, (name_term(part("att")), long_term := name_term(part("attention")))))
    assert caught.value.term is long_term


MANY = 3000


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["mlp", "*a" * MANY + "b"], "steps to build"),
        (["mlp", *("*" + "?*" * 100 + str(number) for number in range(60))], "steps to build"),
        (["mlp", "*[a-c]" * MANY + "b"], "steps to build"),
        (["mlp", "*a" + "?" * 40 + "b"], "states"),
        (["mlp", "?" * 60_000], "positions"),
        (["mlp", "[!a]" * 60_000], "positions"),
        (["mlp", "a" * 500_000], "positions"),
        ([f"*word{number}*" for number in range(24)], "states"),
    ],
    ids=["stars", "terms of stars", "stars and sets", "a far end", "marks", "sets", "a word", "floating words"],
)
def test_hostile_patterns_are_refused_by_their_size_before_they_take_long(names: list[str], reason: str) -> None:
    """Bounded by what is counted while the tables are built, and so is the search for the term to name."""
    rules = [{"op_name": name} for name in names]
    checked = check_config(json.dumps({"dump_enable": True, "rules": rules}).encode(), "config.json")
    selection = checked.require()
    with pytest.raises(ProgramTooLargeError, match=reason) as caught:
        compile_selection(selection, HASH)
    assert caught.value.term is not None
    named = checked.source.slice(caught.value.term.span)
    assert named != "mlp" and named in names


@pytest.mark.parametrize(
    ("when", "bits", "bound", "written"),
    [
        ("nan", 1, 0.0, "nan"),
        ("INF", 2, 0.0, "inf"),
        ("nonfinite", 3, 0.0, "nonfinite"),
        ("inf | nan", 3, 0.0, "nonfinite"),
        ("abs > 6.5504e4", 6, 65504.0, "abs > 65504"),
        ("abs>2|inf|abs>0.1", 6, 0.1, "abs > 0.1"),
        ("abs > 0", 6, 0.0, "abs > 0"),
        ("abs > 1e300 | nonfinite", 7, 1e300, "nan|abs > 1e+300"),
    ],
)
def test_spellings_of_a_condition_are_one_program(when: str, bits: int, bound: float, written: str) -> None:
    """An infinity is beyond every bound, so its bit is always set beside a bound."""
    program, again = (compiled_config(json.dumps({"when": text}).encode()) for text in (when, written))
    assert program.actions[["condition", "condition_bound"]].tolist() == [(bits, bound)]
    assert program.conditions == (written,)
    (asked,) = check_config(json.dumps({"when": when}).encode(), "config.json").require().rules
    assert asked.when is not None and asked.when.text == written
    places = {"config_hash": HASH, "rule_name_records": again.rule_name_records}  # in texts of different lengths
    assert encode(replace(program, **places)) == encode(replace(again, **places))


def test_limits_are_those_of_the_rule_or_of_all_rules() -> None:
    limits = {"stop_after": 3, "max_bytes": "1.5 KiB", "max_tensor_bytes": MAX_NUMBER}
    flat = compiled_config(json.dumps(limits).encode())
    fields = ["stop_after", "max_bytes", "max_tensor_bytes"]
    assert flat.actions[fields].tolist() == [(3, 1536, MAX_NUMBER)]
    assert flat.program["max_bytes"].tolist() == [0]
    rules = compiled_config(json.dumps({**limits, "rules": [{}, {"max_bytes": "7 B", "stop_after": 1}]}).encode())
    assert rules.actions[fields].tolist() == [(3, 0, MAX_NUMBER), (1, 7, MAX_NUMBER)]
    assert rules.program["max_bytes"].tolist() == [1536]


def test_what_is_left_out_is_no_limit() -> None:
    program = compiled(rule(1), plain_rule(2, when=condition(above=2.5)))
    fields = ["condition", "condition_bound", "max_bytes", "max_tensor_bytes", "stop_after"]
    assert program.actions[fields].tolist() == [(0, 0.0, 0, 0, 0), (6, 2.5, 0, 0, 0)]
    assert program.conditions == (None, "abs > 2.5")
    assert program.program["max_bytes"].tolist() == [0]
