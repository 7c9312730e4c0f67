"""docs/reading-dumps.md: its commands and its Python print what it says, on a real dump."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atbprobe_rules.dump.element_types import ELEMENT_TYPES

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reading-dumps.md").read_text(encoding="utf-8")
BLOCKS = [re.sub("^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)]
COMMANDS = [
    (command, printed)
    for block in BLOCKS
    for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
]
PYTHON = "".join(block for block in BLOCKS if block.startswith(">>> "))


@pytest.fixture
def there(real_dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the dump that the page is about, as the working directory."""
    shutil.copytree(real_dump, tmp_path / "atb_dump_data")
    [process] = (tmp_path / "atb_dump_data/data").iterdir()
    process.rename(process.with_name("0_1234"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_trailing_blanks(text: str) -> str:
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_it_says(there: Path, command: str, printed: str) -> None:
    arguments = command.removeprefix("atbprobe-rules ").split()
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", *arguments],
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    said = without_trailing_blanks(done.stdout)
    assert doctest.OutputChecker().check_output(printed, said, doctest.ELLIPSIS), said


def test_its_python_prints_what_it_says(there: Path) -> None:
    parsed = doctest.DocTestParser().get_doctest(PYTHON, {}, "reading-dumps.md", "reading-dumps.md", 0)
    assert len(parsed.examples) > 10
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(parsed, out=told.append)
    assert result.failed == 0, "".join(told)


def test_its_tables_have_every_type() -> None:
    """The integers are one row."""
    for heading in ("| type | numpy's |", "| type | npy, npz | safetensors |"):
        table = PAGE.partition(heading)[2].partition("\n\n")[0]
        for kind in ELEMENT_TYPES.values():
            if re.fullmatch(r"u?int(8|16|32|64)|undefined|float|float16|double|bool|complex64", kind.name):
                continue
            assert re.search(rf"\b{kind.name}\b", table), kind.name
