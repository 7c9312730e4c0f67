"""Every engine gives the peer's recorded answers on the baseline language."""

from __future__ import annotations

import json
from pathlib import Path

from engines import assert_engines_agree

from atbprobe_rules.check import check_config

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"


def test_recorded_decisions() -> None:
    selected = 0
    for line in RECORDS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        selection = check_config(json.dumps(case["config"]).encode(), "config.json").require()
        queries = [(round_number, directory.encode()) for round_number, directory, _, _ in case["queries"]]
        answers = assert_engines_agree(selection, queries)
        for query, (_, in_range, in_dir, _, _) in zip(case["queries"], answers, strict=True):
            assert query[2] == in_range, (case["config"], query)
            # The host asks for the directory only after it was told that the round is wanted.
            assert not in_range or query[3] == in_dir, (case["config"], query)
            selected += in_range and in_dir
    assert selected > 0
