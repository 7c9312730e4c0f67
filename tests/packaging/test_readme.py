"""What README.md says is true: its configs are valid, its commands and make targets exist, its links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from atbprobe_rules.check import check_config
from atbprobe_rules.cli.main import COMMANDS
from atbprobe_rules.fields import FIELDS
from atbprobe_rules.selection import Selection

REPOSITORY = Path(__file__).parent.parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
TEXTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")), REPOSITORY / "grammar" / "README.md"]


PUBLISHED_FIELDS = {"task", "dump_enable", "exec_range", "ids", "op_name", "save_child", "device", "filter_level"}
"""Those that a config of the published probe has."""


def indented_blocks(text: str) -> list[str]:
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, flags=re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip() for block in blocks]


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_its_table_of_variables_has_every_variable() -> None:
    header = (REPOSITORY / "interposer" / "environment.h").read_text(encoding="utf-8")
    variables = re.findall(r"^//   (ATB\w+) ", header, flags=re.MULTILINE)
    assert variables
    rows = re.findall(r"^\| `(\w+)` \|", section("Environment variables"), flags=re.MULTILINE)
    assert sorted(rows) == sorted(variables)


def test_its_configs_are_valid() -> None:
    configs = [block for block in indented_blocks(README) if block.startswith("{")]
    assert configs
    for config in configs:
        assert check_config(config.encode(), "README.md").ok, config


def test_its_table_of_fields_has_every_field_and_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section("The config file"), flags=re.MULTILINE)
    assert {name for name, _ in rows} == PUBLISHED_FIELDS < set(FIELDS)
    for name, value in rows:
        written_out = check_config(json.dumps({name: json.loads(value)}).encode(), "").require()
        assert meaning(written_out) == meaning(check_config(b"{}", "").require()), name


def meaning(selection: Selection) -> tuple[object, ...]:
    """What a flat config means, without the places in its text."""
    [rule] = selection.rules
    rounds = [(numbers.first, numbers.last) for numbers in rule.rounds.included]
    terms = (rule.ids, rule.names, rule.save_child, rule.devices.unlimited, rule.tasks_in, rule.tasks_out)
    return (selection.dump_enable, selection.filter_level, rounds, *terms)


def test_its_error_message_is_one() -> None:
    [shown] = [block for block in indented_blocks(README) if "error[" in block]
    config = b'{\n  "dump_enable": true,\n  "task":   "stats"\n}'
    rendered = check_config(config, "config.json").render()
    assert [line.strip() for line in shown.splitlines()] == [line.strip() for line in rendered.splitlines()]


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(text: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", text.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (text.parent / target).exists(), target


def test_the_commands_that_it_names_exist() -> None:
    named = set(re.findall(r"atbprobe-rules (\w+)", README))
    assert named >= {"wait", "status", "explain", "scripts"}
    assert named <= set(COMMANDS)


def test_the_make_targets_that_it_names_exist() -> None:
    named = set(re.findall(r"\bmake (\w+)", README))
    assert named >= {"demo", "test", "help"}
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for target in named:
        assert re.search(rf"^{target}\b", listed, flags=re.MULTILINE), target
