"""Every engine gives the peer's recorded answers on the baseline language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engines import assert_engines_agree

from atbprobe_rules.check import check_config

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"
CASES = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_recorded_decisions(case: dict[str, object]) -> None:
    selection = check_config(json.dumps(case["config"]).encode(), "config.json").require()
    queries = [(round_number, directory.encode()) for round_number, directory, _, _ in case["queries"]]
    answers = assert_engines_agree(selection, queries)
    for (round_number, directory, in_range, in_dir), answer in zip(case["queries"], answers, strict=True):
        assert answer[1] == in_range, (round_number, directory)
        # The host asks for the directory only after it was told that the round is wanted.
        if in_range:
            assert answer[2] == in_dir, (round_number, directory)


def test_records_select_something() -> None:
    assert sum(in_range and in_dir for case in CASES for _, _, in_range, in_dir in case["queries"]) > 0
