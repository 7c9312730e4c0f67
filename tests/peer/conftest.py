"""What was compared with the published library, told at the end of the run."""

from __future__ import annotations

import pytest
from compared import Compared

COMPARED = pytest.StashKey[Compared]()


@pytest.fixture
def compared(request: pytest.FixtureRequest) -> Compared:
    return request.config.stash.setdefault(COMPARED, Compared())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    compared = config.stash.get(COMPARED, None)
    if compared is None:
        return
    terminalreporter.section("side by side with the published library")
    for line in compared.combinations:
        terminalreporter.line(line)
    terminalreporter.line(
        f"{compared.runs} runs under each library: {compared.files} files equal to the byte, "
        f"{compared.rows} rows of statistic.csv compared"
    )
    for difference, count in sorted(compared.differences.items()):
        terminalreporter.line(f"{count:7}  {difference}")
