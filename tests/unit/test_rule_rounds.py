"""The rounds of rules: first ones, counts, and in words."""

from __future__ import annotations

import json

import pytest

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.explanation.rule_rounds import LONGEST_PERIOD, Rounds, RuleRounds
from atbprobe_rules.selection import MAX_NUMBER


def rounds_of(written: str, end: int | None = None) -> Rounds:
    config = json.dumps({"exec_range": written}).encode()  # with dumping off they are the same
    return RuleRounds(compile_selection(check_config(config, "f").require(), bytes(32)), end).of(1)


@pytest.mark.parametrize(
    ("written", "text", "count"),
    [
        ("all", "every round", None),
        ("none", "no round", 0),
        ("5", "round 5", 1),
        ("5|!5", "no round", 0),
        ("0,1", "rounds 0 and 1", 2),
        ("0,2", "rounds 0 to 2", 3),
        ("0-99", "rounds 0 to 99", 100),
        ("0-9|10-19", "rounds 0 to 19", 20),
        ("0,0,4,5", "rounds 0, 4, 5", 3),
        ("0-20/10", "rounds 0, 10, 20", 3),
        ("0-1000/10", "rounds 0, 10, 20, 30 … (101 rounds)", 101),
        ("3-", "round 3 and all after it", None),
        ("!0", "round 1 and all after it", None),
        ("0-99|150-", "rounds 0, 1, 2, 3 …", None),
        ("0-/3", "rounds 0, 3, 6, 9 …", None),
        ("0-98/3|!6-12", "rounds 0, 3, 15, 18 … (30 rounds)", 30),
        (f"{MAX_NUMBER}", f"round {MAX_NUMBER}", 1),
        (f"{MAX_NUMBER - 1}-", f"rounds {MAX_NUMBER - 1} and {MAX_NUMBER}", 2),
        ("0-/2|1-/2", "every round", None),
        ("0-1999999/1000|!0-1999999/999", "rounds 1000, 2000, 3000, 4000 … (1,997 rounds)", 1997),
    ],
)
def test_in_words(written: str, text: str, count: int | None) -> None:
    rounds = rounds_of(written)
    assert (rounds.text(), rounds.count) == (text, count)


def test_the_rounds_of_a_run_with_an_end() -> None:
    assert rounds_of("0-/3", 7) == Rounds((0, 3, 6), 3, False)
    assert rounds_of("5-", 7) == Rounds((5, 6), 2, True)
    assert rounds_of("7-", 7).count == 0


def test_periods_beyond_all_bounds() -> None:
    """Many strides without a common multiple that could be evaluated: the first rounds are right all the same."""
    steps = [number for number in range(1009, 1500) if all(number % factor for factor in range(2, 40))]
    assert len(steps) > 50 and steps[0] * steps[1] > LONGEST_PERIOD // 2
    rounds = rounds_of("|".join(f"{step}-/{step}" for step in steps))
    assert rounds.first[:3] == tuple(steps[:3])
    assert rounds.count is None
