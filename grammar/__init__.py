"""The grammars of the rules language, as data: `config.lark` and `selectors.lark`."""

from __future__ import annotations

from importlib.resources import files


def grammar_text(name: str) -> str:
    """Return the text of the grammar `name`.lark."""
    return (files(__package__) / f"{name}.lark").read_text(encoding="utf-8")
