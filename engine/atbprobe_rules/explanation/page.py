"""What a config selects as one page of HTML that needs nothing else: the tree, searchable, with why on a click.

The page holds the tree as columns, in the order of a walk from the top, and the answers to "why" once for each set
of ops with the same answer. Of an op that a rule could take by its ids, the page puts in these ids itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

from rich.filesize import decimal

from atbprobe_rules.catalogue.ops import names_of
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.explanation.line_answers import task_names
from atbprobe_rules.explanation.op_tree import TreeNode, op_tree
from atbprobe_rules.explanation.report import SelectionReport
from atbprobe_rules.explanation.sentences import config_sentences, decision_sentences
from atbprobe_rules.explanation.term_matches import DEFAULT
from atbprobe_rules.explanation.why import Change, OpVerdict, RuleVerdict, TermVerdict, explain_op
from atbprobe_rules.fields import IDS, OP_NAME

_TEMPLATE = "page.html"
_PLACE_OF_DATA = "/*DATA*/"


def selection_page(report: SelectionReport) -> str:
    """Return the page. Names are shown without anything that a screen could act on."""
    template = resources.files("atbprobe_rules.explanation").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    data = json.dumps(_Page(report).data(), separators=(",", ":"))
    for letter in "<>&":  # inside of a script element a name could end it
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    return template.replace(_PLACE_OF_DATA, data)


class _Page:
    def __init__(self, report: SelectionReport) -> None:
        self._report = report
        self._rules = report.decided.rules.tolist()
        self._words = [masks.tolist() for masks in report.matches.words()]
        self._strings: dict[str, int] = {}
        self._verdicts: list[dict[str, Any]] = []
        self._verdict_of: dict[tuple[Any, ...], int | None] = {}

    def data(self) -> dict[str, Any]:
        report = self._report
        return {
            "config": printable(report.config.source.filename),
            "sentences": [
                *(f"rule {printable(said.rule.label)} {printable(said.text)}" for said in report.config.sentences),
                *config_sentences(report.config.selection),
                *decision_sentences(report.config.selection),
            ],
            "sources": printable(", ".join(report.catalogue.sources)),
            "notes": list(map(printable, (*report.catalogue.notes, *(miss.reason for miss in report.misses)))),
            "operations": len(report.catalogue),
            "selected": report.decided.count,
            "rounds": report.rounds.text(),
            "bytes": self._bytes(),
            "nodes": self._nodes(),
            "verdicts": self._verdicts,
            "strings": list(self._strings),
        }

    def _bytes(self) -> list[str]:
        found = self._report.estimate
        said = [f"{decimal(found.round.bytes)} in a round"] if found.round.tensors else []
        if found.round.tensors:
            said.append("no end" if found.total is None else f"at most {decimal(found.total.bytes)} in all")
            said.append(f"{decimal(self._report.free_space.bytes)} free")
        return said + ([f"{found.unsized:,} without known sizes"] if found.unsized else [])

    def _nodes(self) -> dict[str, list[int]]:
        """Columns: depth, name (a string), answer (-1 for a process), bytes, whether selected, and which are alike."""
        columns: dict[str, list[int]] = {name: [] for name in ("depth", "name", "why", "bytes", "selected", "alike")}
        sizes = self._report.estimate.op_bytes.tolist()
        for tree in op_tree(self._report.catalogue.ops, self._rules):
            row = (0, self._string(tree.head), -1, 0, 0, -1 - tree.alike)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
            for depth, node in _walk(tree.layers):
                index = node.index
                selected = int(self._rules[index] != 0)
                row = (depth, self._string(node.component), self._why(index), sizes[index], selected, node.alike)
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
        return columns

    def _string(self, raw: bytes) -> int:
        return self._strings.setdefault(printable(raw.decode("utf-8", "surrogateescape")), len(self._strings))

    def _why(self, index: int) -> int:
        """Return the number of the answer: ops that all terms match alike have the same, but for names put in."""
        op = self._report.catalogue.ops[index]
        has_ids = all(part.partition(b"_")[0].isdigit() for part in op.path.split(b"/"))
        key: tuple[Any, ...] = (self._rules[index], op.head, has_ids, *(words[index] for words in self._words))
        known = self._verdict_of.get(key, -1)
        if known is None:  # its answer has the op's names in it
            key = (*key, *names_of(op.path))
            known = self._verdict_of.get(key, -1)
        if known is None or known >= 0:
            return known or 0
        report = self._report
        verdict = explain_op(report.config.selection, report.decided, report.matches, index)
        if any(change.own is not None and change.field == OP_NAME.name for change in _changes_of(verdict)):
            self._verdict_of[key] = None
            key = (*key, *names_of(op.path))
        self._verdict_of[key] = len(self._verdicts)
        self._verdicts.append(self._verdict(verdict))
        return len(self._verdicts) - 1

    def _verdict(self, verdict: OpVerdict) -> dict[str, Any]:
        inputs = outputs = 0
        for rule in verdict.rules:
            if rule.takes:
                inputs |= rule.rule.tasks_in
                outputs |= rule.rule.tasks_out
        return {
            "in": "+".join(task_names(inputs)),
            "out": "+".join(task_names(outputs)),
            "rules": [self._rule(rule) for rule in verdict.rules],
        }

    def _rule(self, verdict: RuleVerdict) -> dict[str, Any]:
        rounds = f"next {verdict.rule.next}" if verdict.rule.next is not None else verdict.rounds.text()
        return {
            "name": printable(verdict.rule.label),
            "takes": verdict.takes,
            "rounds": rounds,
            "terms": [self._term(term) for term in verdict.terms],
            "changes": [_change(change) for change in verdict.changes],
        }

    def _term(self, verdict: TermVerdict) -> dict[str, Any]:
        term = verdict.term
        place = ""
        if term.span is not None:
            line, column = self._report.config.source.position(term.span.offset)
            place = f"{line}:{column}"
        text = term.text if term.field == DEFAULT else f'{term.field} "{term.text}"'
        return {"text": printable(text), "excludes": term.excluded, "matched": verdict.matched, "place": place}


def _changes_of(verdict: OpVerdict) -> Iterator[Change]:
    return (change for rule in verdict.rules for change in rule.changes)


def _change(change: Change) -> dict[str, str]:
    """Return text before and after the op's own ids; `after` is empty where they do not come in."""
    if change.own is not None and change.field == IDS.name:
        kept = f"{change.kept}," if change.kept else ""
        return {"before": printable(f'make "{change.field}" "{kept}'), "after": '"'}
    return {"before": printable(change.text()), "after": ""}


def _walk(layers: list[TreeNode]) -> Iterator[tuple[int, TreeNode]]:
    waiting = [(1, node) for node in reversed(layers)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        waiting.extend((depth + 1, child) for child in reversed(node.children))
