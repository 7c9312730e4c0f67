"""Warnings about limits on data that can never do anything."""

from __future__ import annotations

from collections.abc import Iterator

from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Span, warning
from atbprobe_rules.fields import MAX_BYTES, MAX_TENSOR_BYTES, RULES, TASK
from atbprobe_rules.read_rules import ReadConfig, RuleText
from atbprobe_rules.selection import Rule


def unused_limits(read: ReadConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each limit on data where none are kept, and for each that is reached by all rules before."""
    rules = list(zip(read.selection.rules, read.rule_texts, strict=True))
    of_all = read.text.get(MAX_BYTES.name) if RULES.name in read.text else None
    limited: dict[tuple[str, Span], list[tuple[Rule, RuleText]]] = {}
    for name in (MAX_BYTES.name, MAX_TENSOR_BYTES.name):
        for rule, text in rules:
            if name in text:
                limited.setdefault((name, text[name]), []).append((rule, text))
    if of_all is not None:
        limited[MAX_BYTES.name, of_all] = rules
        yield from _reached_together(rules, read.selection.max_bytes, of_all)
    for (name, span), its_rules in limited.items():
        if not any(rule.keeps_data for rule, _ in its_rules):
            yield _without_data(name, span, its_rules[0][1])


def _without_data(name: str, span: Span, text: RuleText) -> Diagnostic:
    """Where several rules have the limit, the first of them is enough to show why."""
    message = f'this "{name}" changes nothing: only statistics are kept'
    related = (Related(text[TASK.name], "by this task"),) if TASK.name in text else ()
    return warning(Code.UNUSED_LIMIT, span, message, None, *related)


def _reached_together(
    rules: list[tuple[Rule, RuleText]], most_together: int | None, of_all: Span
) -> Iterator[Diagnostic]:
    """What a rule keeps counts for all rules too, so that a limit of its own has to be the smaller one."""
    for rule, text in rules:
        if most_together is not None and rule.keeps_data and (rule.max_bytes or 0) >= most_together:
            message = 'this "max_bytes" changes nothing: that of all rules together is no larger'
            related = Related(of_all, "which ends them all")
            yield warning(Code.UNUSED_LIMIT, text[MAX_BYTES.name], message, None, related)
