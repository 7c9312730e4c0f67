"""Runs of the model, and what was compared with the published library, told at the end of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared import Compared
from model_runs import ModelRuns
from probed_host import NativeFile

COMPARED = pytest.StashKey[Compared]()


@pytest.fixture
def compared(request: pytest.FixtureRequest) -> Compared:
    return request.config.stash.setdefault(COMPARED, Compared())


@pytest.fixture
def run(tmp_path: Path, native_file: NativeFile) -> ModelRuns:
    return ModelRuns(tmp_path, native_file)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    compared = config.stash.get(COMPARED, None)
    if compared is None:
        return
    terminalreporter.section("side by side with the published library")
    for line in (compared.header, *compared.combinations) if compared.combinations else ():
        terminalreporter.line(line)
    terminalreporter.line(
        f"{compared.runs} runs under each library: {compared.files} files equal to the byte, "
        f"{compared.rows} rows of statistic.csv compared"
    )
    for difference, count in sorted(compared.differences.items()):
        terminalreporter.line(f"{count:7}  {difference}")
    terminalreporter.line(
        f"the peer was run again {compared.runs_again} times: {compared.lost} rows and files were missing or torn, and "
        f"there the next time; {compared.failures} processes died or left a table without a header"
    )
    for note in compared.notes:
        terminalreporter.line(note)
