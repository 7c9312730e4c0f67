"""The recorded answers of the published probe, asked of a real process that has our library preloaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from probed_host import Probed

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"


@pytest.mark.slow
def test_a_preloaded_process_answers_as_recorded(probed_either: Probed) -> None:
    wrong = []
    asked = 0
    probed_either.publish({})
    with probed_either.caller() as host:
        for line in RECORDS.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            generation = probed_either.publish(record["config"])
            calls = []
            for number, directory, _, _ in record["queries"]:
                calls.append((0, "IsExecuteCountInRange", [number]))
                calls.append((0, "IsSaveTensorInSpecificDir", [directory]))
            answers = host.call_all(calls)
            for index, (number, directory, in_range, in_dir) in enumerate(record["queries"]):
                got = answers[2 * index : 2 * index + 2]
                # The host asks the second question only after a yes to the first.
                if got != [bool(in_range), bool(in_dir)] and (in_range or got[0]):
                    wrong.append((record["config"], number, directory, got))
                asked += 1
            assert probed_either.process(host.pid).generation == generation
    assert asked == 9600
    assert wrong == []
