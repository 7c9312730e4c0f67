"""From the content of a config file to its program, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from atbprobe_rules.check import CheckedConfig, check_config
from atbprobe_rules.compiler import ProgramTooLargeError, compile_selection
from atbprobe_rules.config_file import Reading
from atbprobe_rules.diagnostics import Code, Diagnostic, Span, error, sort_by_place
from atbprobe_rules.program import Program


@dataclass(frozen=True)
class CompiledConfig:
    """What came out of a file: its diagnostics, and a program if none of them is an error."""

    checked: CheckedConfig
    program: Program | None


def compile_config(reading: Reading, config: Path) -> CompiledConfig:
    """Check and compile what was read from `config`; rules beyond the limits of a program are a diagnostic too."""
    if reading.data is None:
        raise ValueError("there is no content to compile")
    checked = check_config(reading.data, str(config))
    if checked.selection is None:
        return CompiledConfig(checked, None)
    try:
        return CompiledConfig(checked, compile_selection(checked.selection, reading.content_hash))
    except ProgramTooLargeError as failure:
        diagnostics = sort_by_place((*checked.diagnostics, _too_complex(failure)))
        return CompiledConfig(replace(checked, selection=None, diagnostics=diagnostics), None)


def _too_complex(failure: ProgramTooLargeError) -> Diagnostic:
    if failure.term is None:
        return error(Code.TOO_COMPLEX, Span(0, 0), str(failure))
    hint = "this term costs most: fewer wildcards or fewer terms make it smaller"
    return error(Code.TOO_COMPLEX, failure.term.span, str(failure), hint)
