"""Why operations are selected or not, and what another config changes, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from atbprobe_rules.cli.selection_text import LINES_SHOWN
from atbprobe_rules.cli.words import counted
from atbprobe_rules.diagnostics import Source, printable
from atbprobe_rules.explanation.config_diff import ConfigDiff, Difference
from atbprobe_rules.explanation.op_tree import TreeNode, folds, op_tree
from atbprobe_rules.explanation.term_matches import DEFAULT
from atbprobe_rules.explanation.why import OpVerdict, RuleVerdict, TermVerdict

_MARKS = {Difference.GAINED: ("+", "green"), Difference.LOST: ("-", "red"), Difference.CHANGED: ("~", "yellow")}


def why_lines(verdict: OpVerdict, alike: int, source: Source) -> Iterator[str]:
    """Yield the answer for one op; as many others get the same one."""
    others = f" (and {counted(alike, 'operation')} more with the same answer)" if alike else ""
    path = f"{_text(verdict.op.head)}/{_text(verdict.op.path)}"
    yield f"{path}: {'selected' if verdict.selected else 'NOT SELECTED'}{others}"
    for rule in verdict.rules:
        yield from _rule_lines(rule, source)


def diff_lines(diff: ConfigDiff, show_all: bool) -> Iterator[str]:
    """Yield counts, and the operations that are gained, lost or kept otherwise."""
    names = [printable(report.config.source.filename) for report in (diff.before, diff.after)]
    counts = [f"{diff.count(kind):,} {kind.name.lower()}" for kind in Difference if kind]
    operations = counted(len(diff.before.catalogue), "operation")
    yield f"{names[0]} -> {names[1]}: of {operations} {', '.join(counts)}"
    changed = sum(1 for difference in diff.differences if difference)
    for shown, line in enumerate(_changed_lines(diff, show_all)):
        if shown == LINES_SHOWN and not show_all:
            yield f"... and more of {counted(changed, 'operation')}: --all shows them"
            return
        yield line


def _changed_lines(diff: ConfigDiff, unfolded: bool) -> Iterator[str]:
    """Yield a line for each operation with a difference.

    Of a subtree in which it is the same everywhere only the top, of siblings in a row that are alike only the first;
    `unfolded`: all of them.
    """
    for tree in op_tree(diff.before.catalogue.ops, diff.marks):
        waiting: list[TreeNode | str] = _waiting(tree.layers, unfolded)
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                yield node
                continue
            whole = node.uniform and not unfolded
            if diff.marks[node.index]:
                yield _changed_line(diff, node, whole)
            if node.marked and not whole:
                waiting += _waiting(node.children, unfolded)


def _waiting(siblings: list[TreeNode], unfolded: bool) -> list[TreeNode | str]:
    """Return siblings from the last to the first, with a line in place of those that are folded."""
    found: list[TreeNode | str] = []
    for fold in folds(siblings):
        if unfolded:
            found += fold.nodes
            continue
        found.append(fold.first)
        if len(fold.nodes) > 1 and fold.first.marked:
            name = _text(fold.first.component.partition(b"_")[2])
            found.append(f"  {len(fold.nodes) - 1:,} more {name} alike, up to {_text(fold.nodes[-1].component)}")
    return found[::-1]


def _changed_line(diff: ConfigDiff, node: TreeNode, whole: bool) -> str:
    op = diff.before.catalogue.ops[node.index]
    mark, colour = _MARKS[diff.differences[node.index]]
    below = f" and {node.count - 1:,} below" if whole and node.count > 1 else ""
    said = click.style(f"{mark} {_text(op.head)}/{_text(op.path)}{below}", fg=colour)
    return f"{said}  ({printable(diff.words(node.index))})"


def _rule_lines(verdict: RuleVerdict, source: Source) -> Iterator[str]:
    rounds = f"next {verdict.rule.next}" if verdict.rule.next is not None else verdict.rounds.text()
    says = "selects it" if verdict.takes else "does not select it"
    yield f"  rule {printable(verdict.rule.label)} {says} ({rounds})"
    width = max(len(_term(term)) for term in verdict.terms)
    for term in verdict.terms:
        yield f"    {_term(term):{width}}  {_outcome(term)}{_place(term, source)}"
    changes: Sequence[str] = [printable(change.text()) for change in verdict.changes]
    if changes:
        yield f"    to select it: {'; and '.join(changes)}"


def _term(verdict: TermVerdict) -> str:
    term = verdict.term
    return printable(term.text if term.field == DEFAULT else f'{term.field} "{term.text}"')


def _outcome(verdict: TermVerdict) -> str:
    if verdict.term.excluded:
        return "excludes it" if verdict.matched else "does not exclude it"
    return "matches" if verdict.matched else "does not match"


def _place(verdict: TermVerdict, source: Source) -> str:
    if verdict.term.span is None:
        return ""
    line, column = source.position(verdict.term.span.offset)
    return f"  ({printable(source.filename)}:{line}:{column})"


def _text(raw: bytes) -> str:
    return printable(raw.decode("utf-8", "surrogateescape"))
