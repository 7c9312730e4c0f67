"""Rules with `next`, and executions of ops as a host has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from probed_host import ProbeCaller

from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.image import encode
from atbprobe_rules.selection import Selection


def selection_of(*rules: dict[str, Any], filter_level: int = 0) -> Selection:
    """Read rules, which take all rounds unless they say otherwise."""
    written = [fields if "next" in fields else {"exec_range": "all", **fields} for fields in rules]
    config = {"dump_enable": True, "filter_level": filter_level, "rules": written}
    return check_config(json.dumps(config).encode(), "config.json").require()


def image_of(*rules: dict[str, Any], filter_level: int = 0) -> bytes:
    return encode(compile_selection(selection_of(*rules, filter_level=filter_level), bytes(32)))


def begin(host: ProbeCaller, directory: str, number: int, *, thread: int = 0, kernel: bool = False) -> bool:
    """Ask for the before pass of an execution; the first no ends it."""
    order = ["IsSaveTensorBefore", "IsSaveTensorInSpecificDir"]
    return _ask(host, order if kernel else order[::-1], directory, number, thread)


def end(host: ProbeCaller, directory: str, number: int, *, thread: int = 0, kernel: bool = False) -> tuple[bool, bool]:
    """Ask for the after pass of an execution and for its parameters."""
    order = ["IsSaveTensorAfter", "IsSaveTensorInSpecificDir"]
    after = _ask(host, order if kernel else order[::-1], directory, number, thread)
    return after, _ask(host, ["IsSaveTensorInSpecificDir", "IsSaveParam"], directory, number, thread)


def execute(host: ProbeCaller, directory: str, number: int, *, thread: int = 0, kernel: bool = False) -> bool:
    """Make all questions about one execution; fail unless all are answered alike."""
    before = begin(host, directory, number, thread=thread, kernel=kernel)
    assert end(host, directory, number, thread=thread, kernel=kernel) == (before, before)
    return before


def executed(host: ProbeCaller, directory: str, numbers: Iterable[int], **options: Any) -> list[int]:
    """Return the rounds that were dumped."""
    return [number for number in numbers if execute(host, directory, number, **options)]


def _ask(host: ProbeCaller, order: list[str], directory: str, number: int, thread: int) -> bool:
    if not host.call("IsExecuteCountInRange", number, thread=thread):
        return False
    given: dict[str, list[object]] = {"IsSaveTensorInSpecificDir": [directory]}
    return all(host.call(question, *given.get(question, []), thread=thread) for question in order)
