"""The cases with decisions, asked of every engine."""

from __future__ import annotations

import pytest
from engines import assert_engines_agree

from atbprobe_rules.check import check_config
from case_file import Case, load_cases


@pytest.mark.parametrize("case", load_cases("decisions"), ids=lambda case: case.name)
def test_every_engine_decides_as_the_case_says(case: Case) -> None:
    asked = zip(case.queries, case.earlier_executions(), strict=True)
    queries = [(query.round, query.directory.encode(), earlier) for query, earlier in asked]
    for config in case.configs:
        answers = assert_engines_agree(check_config(config, "config.json").require(), queries)
        kept = [(answer[3], answer[4]) for answer in answers]
        assert kept == [(int(query.tasks_in), int(query.tasks_out)) for query in case.queries]
