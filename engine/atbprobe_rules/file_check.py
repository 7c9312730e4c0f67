"""What there is to say of one config file, whether it can be read or not: the answer of `check`."""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atbprobe_rules.check import CheckedConfig
from atbprobe_rules.compat import PublishedReading, read_as_published
from atbprobe_rules.compiled_config import compile_config
from atbprobe_rules.config_file import Reading
from atbprobe_rules.diagnostics import Code, Diagnostic, Severity, Source, Span, error, note, warning

_WHOLE_FILE = Span(0, 0)


@dataclass(frozen=True)
class FileCheck:
    """One file: what is wrong with it, whether that refuses it, and what the published probe makes of it, if asked."""

    checked: CheckedConfig
    ok: bool
    published: PublishedReading | None = None

    def count(self, severity: Severity) -> int:
        """Return the number of diagnostics of that severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.checked.diagnostics)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `check --json` prints."""
        answer = {**self.checked.to_json(), "ok": self.ok}
        if self.published is not None:
            answer["compat"] = [note.to_json(self.checked.source) for note in self.published.notes]
            answer["compat_config"] = self.published.config
        return answer


def check_file(reading: Reading, config: Path, *, strict: bool = False, compat: bool = False) -> FileCheck:
    """Judge what was read from `config`. `strict`: warnings refuse it; `compat`: read it as the peer does, too."""
    checked = check_reading(reading, config)
    ok = checked.ok and not (strict and checked.diagnostics)
    return FileCheck(checked, ok, _read_as_published(reading, config, checked) if compat else None)


def _read_as_published(reading: Reading, config: Path, checked: CheckedConfig) -> PublishedReading:
    if reading.missing:
        message = "the published probe dumps nothing while there is no file"
        return PublishedReading((note(Code.COMPAT_UNREADABLE, _WHOLE_FILE, message),), None)
    if reading.data is None:
        message = "what the published probe makes of a file that cannot be read here is not told"
        return PublishedReading((note(Code.COMPAT_NOT_TOLD, _WHOLE_FILE, message),), None)
    published = read_as_published(checked)
    passed_over = _why_passed_over(config)
    if passed_over is None:
        return published
    unread = note(Code.COMPAT_UNREADABLE, _WHOLE_FILE, f"the published probe does not read the file: {passed_over}")
    return PublishedReading((unread, *published.notes), None)


def _why_passed_over(config: Path) -> str | None:
    """Return why the published probe does not read a file whatever it holds, if so; it says nothing itself."""
    if config.is_symlink():
        return "it is a link"
    try:
        mode = config.stat().st_mode
    except OSError:
        return None  # standard input, or gone by now
    return "others may write it" if mode & (stat.S_IWGRP | stat.S_IWOTH) else None


def check_reading(reading: Reading, config: Path) -> CheckedConfig:
    """Check what was read from `config`, up to its program; what keeps a file from being read is a diagnostic too."""
    if reading.data is None:
        return CheckedConfig(Source(str(config), ""), None, (_obstacle(reading),))
    checked = compile_config(reading, config).checked
    if reading.fault is None:
        return checked
    untrusted = warning(Code.UNTRUSTED_FILE, _WHOLE_FILE, reading.fault, "a watcher does not take it as it is")
    return replace(checked, diagnostics=(untrusted, *checked.diagnostics))


def _obstacle(reading: Reading) -> Diagnostic:
    if reading.fault is None:
        return error(Code.NO_FILE, _WHOLE_FILE, "no such file")
    code = Code.UNTRUSTED_FILE if reading.distrusted else Code.UNREADABLE_FILE
    return error(code, _WHOLE_FILE, reading.fault)
