"""From the bytes of a config file to the selection it means, or to everything that is wrong with it.

A config is taken whole or not at all. Every mistake is reported, not only the first; a mistake never makes a
config select more than was written, because with one error there is no selection.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from atbprobe_rules.dead_rules import dead_rules, unused_keys
from atbprobe_rules.diagnostics import (
    Code,
    Diagnostic,
    Severity,
    Source,
    Span,
    error,
    render_all,
    sort_by_place,
)
from atbprobe_rules.errors import AtbprobeError
from atbprobe_rules.members import type_name
from atbprobe_rules.parse import parse_json
from atbprobe_rules.read_rules import ReadConfig, read_selection
from atbprobe_rules.selection import Selection
from atbprobe_rules.shadowing import shadowed_terms
from atbprobe_rules.syntax_tree import Invalid, Object
from atbprobe_rules.unused_limits import unused_limits

MAX_BYTES = 1024 * 1024

_SHOWN_OF_TOO_LARGE = 4096


class ConfigError(AtbprobeError):
    """A config was refused; `checked` has the diagnostics, and the message is their text."""

    def __init__(self, checked: CheckedConfig) -> None:
        super().__init__(checked.render())
        self.checked = checked


@dataclass(frozen=True)
class CheckedConfig:
    """What came out of a file: diagnostics in the order of the file, and a selection if none is an error."""

    source: Source
    selection: Selection | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether the config is taken; there may be warnings."""
        return self.selection is not None

    def require(self) -> Selection:
        """Return the selection, or raise ConfigError."""
        if self.selection is None:
            raise ConfigError(self)
        return self.selection

    def render(self) -> str:
        """Return the diagnostics as text."""
        return render_all(self.diagnostics, self.source)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `check --json` prints."""
        diagnostics = [diagnostic.to_json(self.source) for diagnostic in self.diagnostics]
        return {"file": self.source.filename, "ok": self.ok, "diagnostics": diagnostics}


def check_config(data: bytes, filename: str) -> CheckedConfig:
    """Check the content of a config file. Never raises on account of the content."""
    source, found = _decode(data, filename)
    read = None
    if not found:
        value, found = parse_json(source)
        if isinstance(value, Object):
            read = read_selection(value, found)
        elif value is not None and not isinstance(value, Invalid):
            message = f"a config is a JSON object, not {type_name(value)}"
            found.append(error(Code.NOT_AN_OBJECT, value.span, message))
    if read is None or any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        return CheckedConfig(source, None, sort_by_place(found))
    return CheckedConfig(source, read.selection, sort_by_place([*found, *_warnings(read, source)]))


def _warnings(read: ReadConfig, source: Source) -> Iterable[Diagnostic]:
    """Return what is legal and looks wrong; of a term once, however many rules inherit it."""
    terms = shadowed_terms(read.selection.rules, source)
    return [*terms, *dead_rules(read, source), *unused_keys(read), *unused_limits(read)]


def _decode(data: bytes, filename: str) -> tuple[Source, list[Diagnostic]]:
    if len(data) > MAX_BYTES:
        source = Source(filename, data[:_SHOWN_OF_TOO_LARGE].decode("utf-8", "replace"))
        message = f"the file has {len(data)} bytes, and a config may have {MAX_BYTES}"
        return source, [error(Code.TOO_LARGE, Span(0, 0), message)]
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(filename, data.decode("utf-8")), []
    except UnicodeDecodeError as failure:
        place = Span(len(data[: failure.start].decode("utf-8")), 1)
        message = f"byte 0x{data[failure.start]:02x} here is not UTF-8"
        source = Source(filename, data.decode("utf-8", "replace"))
        return source, [error(Code.NOT_UTF8, place, message, "save the file as UTF-8")]
