"""One question to every engine: the reference, the vectorised evaluator, and the library's."""

from __future__ import annotations

from collections.abc import Sequence

from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.decide import decide
from atbprobe_rules.evaluate import decide_many
from atbprobe_rules.image import decode, encode
from atbprobe_rules.native import NativeProgram
from atbprobe_rules.program import Records
from atbprobe_rules.selection import Selection

CONFIG_HASH = bytes(range(32))

Query = tuple[int, bytes] | tuple[int, bytes, int]
"""Round, directory, and how many executions of the op came before; none unless given."""
Answer = tuple[int, int, int, int, int]
"""Mask of rules, count in range, in specific dir, input tasks, output tasks."""


def image_of(selection: Selection) -> bytes:
    return encode(compile_selection(selection, CONFIG_HASH))


def answers_of(records: Records) -> list[Answer]:
    return [tuple(record) for record in records.tolist()]


def columns_of(queries: Sequence[Query]) -> tuple[list[int], list[bytes], list[int]]:
    """Return the rounds, the directories and the earlier executions."""
    rounds, dirs = [query[0] for query in queries], [query[1] for query in queries]
    return rounds, dirs, [query[2] if len(query) == 3 else 0 for query in queries]


def ask_reference(selection: Selection, queries: Sequence[Query]) -> list[Answer]:
    answers = []
    for round_number, directory, earlier in zip(*columns_of(queries), strict=True):
        decision = decide(selection, round_number, directory, earlier)
        mask = sum(1 << number - 1 for number in decision.rules)
        in_range, in_dir = int(decision.count_in_range), int(decision.in_specific_dir)
        answers.append((mask, in_range, in_dir, int(decision.tasks_in), int(decision.tasks_out)))
    return answers


def ask_tables(image: bytes, queries: Sequence[Query]) -> list[Answer]:
    return answers_of(decide_many(decode(image), *columns_of(queries)))


def ask_library(image: bytes, queries: Sequence[Query]) -> list[Answer]:
    with NativeProgram(image) as program:
        return answers_of(program.decide_many(*columns_of(queries)))


def assert_engines_agree(selection: Selection, queries: Sequence[Query]) -> list[Answer]:
    """Hold the three against each other, question by question; return their answers."""
    image = image_of(selection)
    expected = ask_reference(selection, queries)
    for engine, answers in (("tables", ask_tables(image, queries)), ("library", ask_library(image, queries))):
        for query, answer, wanted in zip(queries, answers, expected, strict=True):
            assert answer == wanted, f"{engine} on {query}"
    return expected
