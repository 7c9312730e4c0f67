"""What a config selects, as lines for a person: sentences, counts, and the tree of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import click
from rich.filesize import decimal

from atbprobe_rules.cli.words import counted
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.explanation.line_answers import task_names
from atbprobe_rules.explanation.near_misses import Miss
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.op_tree import ProcessTree, TreeNode, folds, op_tree
from atbprobe_rules.explanation.report import ConfigReport, SelectionReport
from atbprobe_rules.explanation.sentences import config_sentences, decision_sentences

LINES_SHOWN = 200


def config_lines(report: ConfigReport) -> Iterator[str]:
    """Yield the rules in sentences."""
    yield printable(report.source.filename)
    for sentence in report.sentences:
        yield f"  rule {printable(sentence.rule.label)} {printable(sentence.text)}"
    for text in (*config_sentences(report.selection), *decision_sentences(report.selection)):
        yield f"  {text}"


def selection_lines(report: SelectionReport, show_all: bool) -> Iterator[str]:
    """Yield counts, what is nearest where rules select nothing, the tree, and bytes."""
    catalogue, decided = report.catalogue, report.decided
    yield f"operations from {printable(', '.join(catalogue.sources))}"
    yield from (f"  note: {printable(note)}" for note in catalogue.notes)
    if decided.count == 0:
        loud = f"NOTHING IS SELECTED: none of {counted(len(catalogue), 'operation')}"
        yield click.style(loud, fg="red", bold=True)
    else:
        yield f"{decided.count:,} of {counted(len(catalogue), 'operation')} selected{_rounds(report)}"
    yield from miss_lines(report.config, report.misses)
    yield from tree_lines(decided, report.estimate.op_bytes.tolist(), show_all)
    if decided.count:
        yield from byte_lines(report)


def miss_lines(config: ConfigReport, misses: Sequence[Miss]) -> Iterator[str]:
    """Yield why rules select nothing, with the place that it is about."""
    for miss in misses:
        place = ""
        if miss.term is not None and miss.term.span is not None:
            line, column = config.source.position(miss.term.span.offset)
            place = f" ({printable(config.source.filename)}:{line}:{column})"
        yield f"  rule {printable(miss.rule.label)} selects nothing: {printable(miss.reason)}{place}"


def tree_lines(decided: OpSelection, op_bytes: Sequence[int], show_all: bool) -> Iterator[str]:
    """Yield the tree: whole, or folded where it is uniform and no longer than LINES_SHOWN."""
    trees = op_tree(decided.catalogue.ops, decided.rules.tolist())
    lines = _Tree(decided, op_bytes, show_all).lines(trees)
    for number, line in enumerate(lines, 1):
        if number > LINES_SHOWN and not show_all:
            left = 1 + sum(1 for _ in lines)
            yield f"... and {counted(left, 'more line')}: --all shows them"
            return
        yield line()


def byte_lines(report: SelectionReport) -> Iterator[str]:
    """Yield what is written, against what is free."""
    found, free = report.estimate, report.free_space
    if found.round.tensors:
        yield f"data in a round: {_amount(found.round.tensors, found.round.bytes)}"
        if found.total is None:
            rounds = free.bytes // max(found.round.bytes, 1)
            yield f"data in all: every round more, without end; what is free takes {counted(rounds, 'round')}"
        else:
            yield f"data in all: at most {_amount(found.total.tensors, found.total.bytes)}"
            most = found.total.bytes if found.limited is None else min(found.total.bytes, found.limited)
            if most > free.bytes:
                yield click.style("  which is more than there is free", fg="red", bold=True)
        if found.limited is not None and (found.total is None or found.limited < found.total.bytes):
            yield f"max_bytes ends it: at most {decimal(found.limited)}"
        if found.recorded is not None:
            yield f"in a run like the recorded one: {_amount(found.recorded.tensors, found.recorded.bytes)}"
        yield f"free in {printable(str(free.folder))}: {decimal(free.bytes)}"
    if found.unsized:
        yield f"the sizes of {counted(found.unsized, 'selected operation')} are not known: they come on top"


Line = Callable[[], str]


class _Tree:
    """Lines are made when they are called: of a large tree most are counted only."""

    def __init__(self, decided: OpSelection, op_bytes: Sequence[int], unfolded: bool) -> None:
        self._decided = decided
        self._bytes = op_bytes
        self._unfolded = unfolded
        self._rules = decided.rules.tolist()
        self._inputs, self._outputs = (tasks.tolist() for tasks in decided.tasks)

    def lines(self, trees: Sequence[ProcessTree]) -> Iterator[Line]:
        shown: dict[int, list[ProcessTree]] = {}
        for tree in trees:
            shown.setdefault(len(shown) if self._unfolded else tree.alike, []).append(tree)
        for alike in shown.values():
            yield partial("process {}".format, _text(alike[0].head))
            yield from self._siblings(alike[0].layers)
            if len(alike) > 1:
                yield partial(self._processes_alike, alike)

    def _siblings(self, layers: list[TreeNode]) -> Iterator[Line]:
        """From the top down, without recursion: a path can be of any depth."""
        waiting: list[Iterator[Line | tuple[list[TreeNode], int]]] = [self._level(layers, 1)]
        while waiting:
            step = next(waiting[-1], None)
            if step is None:
                waiting.pop()
            elif isinstance(step, tuple):
                waiting.append(self._level(*step))
            else:
                yield step

    def _level(self, siblings: list[TreeNode], depth: int) -> Iterator[Line | tuple[list[TreeNode], int]]:
        indent = "  " * depth
        for fold in folds(siblings):
            for node in fold.nodes if self._unfolded else fold.nodes[:1]:
                whole = node.uniform and not self._unfolded
                yield partial(self._line, indent, node, whole)
                if node.children and not whole:
                    yield node.children, depth + 1
            if len(fold.nodes) > 1 and not self._unfolded:
                yield partial(self._alike, indent, fold.nodes)

    def _processes_alike(self, alike: list[ProcessTree]) -> str:
        names = ", ".join(_text(tree.head) for tree in alike[1:5]) + (" …" if len(alike) > 5 else "")
        return f"{_more(len(alike) - 1, 'process')} alike: {names}"

    def _line(self, indent: str, node: TreeNode, whole: bool) -> str:
        below = f" and {'all ' if node.count > 2 else ''}{node.count - 1:,} below" if whole and node.count > 1 else ""
        name = _text(node.component)
        mask = self._rules[node.index]
        if mask == 0:
            return f"{indent}- {name}{below}"
        sides = [
            f"{side}: {'+'.join(task_names(tasks))}"
            for side, tasks in (("in", self._inputs[node.index]), ("out", self._outputs[node.index]))
            if tasks
        ]
        size = self._size([node]) if whole else self._bytes[node.index]
        said = [f"rule {printable(', '.join(self._decided.rule_names(mask)))}", *sides]
        said += [decimal(size)] if size else []
        return indent + click.style(f"+ {name}{below}", fg="green") + f"  ({'; '.join(said)})"

    def _alike(self, indent: str, nodes: list[TreeNode]) -> str:
        name = _text(nodes[0].component.partition(b"_")[2])
        ids = [node.component.partition(b"_")[0] for node in (nodes[1], nodes[-1])]
        where = f"ids {_text(ids[0])} to {_text(ids[1])}" if len(nodes) > 2 else f"id {_text(ids[0])}"
        size = self._size(nodes[1:])
        return f"{indent}  {len(nodes) - 1:,} more {name} alike ({where}{f'; {decimal(size)}' if size else ''})"

    def _size(self, nodes: list[TreeNode]) -> int:
        size, waiting = 0, list(nodes)
        while waiting:
            node = waiting.pop()
            size += self._bytes[node.index]
            waiting.extend(node.children)
        return size


def _rounds(report: SelectionReport) -> str:
    by_next = report.config.program.actions["next"].any()
    return "" if by_next else f", {report.rounds.text()}"


def _amount(tensors: int, size: int) -> str:
    return f"{decimal(size)} in {counted(tensors, 'tensor')}"


def _more(count: int, noun: str) -> str:
    return f"{count:,} more {noun}{'es' if count > 1 else ''}"


def _text(raw: bytes) -> str:
    return printable(raw.decode("utf-8", "surrogateescape"))
