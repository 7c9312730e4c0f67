"""docs/rules-language.md: every message is there with an example that prints just that, and every value is valid."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from atbprobe_rules.check import check_config
from atbprobe_rules.config_file import read_config_file
from atbprobe_rules.diagnostics import Code, render_all
from atbprobe_rules.fields import FIELDS, Place
from atbprobe_rules.file_check import check_file

PAGE = (Path(__file__).parent.parent.parent / "docs" / "rules-language.md").read_text(encoding="utf-8")
EXPLANATION, MESSAGES = PAGE.split("\n## Messages\n")


class Example(NamedTuple):
    """A config, or the command that makes it, and the messages about it."""

    code: str
    config: str
    printed: str


def examples() -> list[Example]:
    found = []
    for section in MESSAGES.split("\n#### ")[1:]:
        code, _, body = section.partition("\n")
        blocks = [
            textwrap.dedent(block).strip("\n") for block in re.findall(r"(?:^    .*\n)+", body, flags=re.MULTILINE)
        ]
        config, printed = blocks
        found.append(Example(code, config, printed))
    return found


EXAMPLES = examples()


def test_every_message_is_listed_once() -> None:
    assert sorted(example.code for example in EXAMPLES) == sorted(code.value for code in Code)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.code)
def test_an_example_prints_what_it_says(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = Path("config.json")
    if example.config.startswith("$ "):
        subprocess.run(["bash", "-c", example.config[2:]], check=True)
    else:
        config.write_text(example.config, encoding="utf-8")
        config.chmod(0o600)
    answer = check_file(read_config_file(config, from_anybody=True), config, compat=True)
    assert answer.published is not None
    said = answer.published.notes if example.code.startswith("compat-") else answer.checked.diagnostics
    assert example.code in {diagnostic.code.value for diagnostic in said}
    printed = example.printed.replace("alice", pwd.getpwuid(os.geteuid()).pw_name)
    assert render_all(said, answer.checked.source).split("\n") == printed.split("\n")


def test_every_value_is_valid() -> None:
    values = re.findall(
        r'^    ("\w+": (?:".*?"|\d+)(?:, "\w+": (?:".*?"|\w+))*)(?:  .*)?$', EXPLANATION, flags=re.MULTILINE
    )
    assert len(values) > 30
    for value in values:
        assert check_config(f"{{{value}}}".encode(), "value").diagnostics == (), value


def test_its_configs_are_valid() -> None:
    configs = re.findall(r"^    \{\n(?:     .*\n)+    \}\n", EXPLANATION, flags=re.MULTILINE)
    assert configs
    for config in configs:
        assert check_config(config.encode(), "config").diagnostics == (), config


def test_its_table_has_every_key() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]*\| ?(\w*) ?\|", EXPLANATION, flags=re.MULTILINE))
    words = {Place.TOP: "no", Place.BOTH: "yes", Place.RULE: "only"}
    expected = {name: words[field.place] for name, field in FIELDS.items()}
    assert rows == {**expected, "rules": ""}
