"""The ops of a catalogue as a tree, folded where one part of it is as another.

Every op has a mark: the rules that select it, or what changes for it; 0 is none. Siblings in a row are alike if they
have the same name, the same mark, and so have all below them; ids do not count, nor do bytes. Processes are alike if
all their ops are. What is alike gets one number, from the leaves up, so that alike is a comparison of numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from atbprobe_rules.catalogue.ops import Op


@dataclass(slots=True)
class TreeNode:
    """An op and what is below it. `index` is its place in the catalogue; `alike` is the same where all is the same."""

    index: int
    component: bytes
    children: list[TreeNode] = field(default_factory=list)
    count: int = 1
    """How many ops this and all below are."""
    marked: int = 0
    """How many of these have a mark."""
    uniform: bool = True
    """Whether all of these have the same mark, or none."""
    alike: int = 0


@dataclass(slots=True)
class ProcessTree:
    """The ops of one process."""

    head: bytes
    layers: list[TreeNode]
    alike: int = 0


@dataclass(frozen=True)
class Fold:
    """Nodes in a row, of which all are like the first one."""

    nodes: list[TreeNode]

    @property
    def first(self) -> TreeNode:
        return self.nodes[0]


def op_tree(ops: Sequence[Op], marks: Sequence[int]) -> list[ProcessTree]:
    """Build the trees, those of each process in the order of ids; `marks[i]` is that of `ops[i]`."""
    trees: dict[bytes, ProcessTree] = {}
    nodes: dict[tuple[bytes, bytes], TreeNode] = {}
    for index, op in enumerate(ops):
        nodes[op.head, op.path] = TreeNode(index, op.path.rpartition(b"/")[2])
    for op in ops:
        tree = trees.setdefault(op.head, ProcessTree(op.head, []))
        _siblings(op, nodes, tree).append(nodes[op.head, op.path])
    numbers: dict[Hashable, int] = {}
    for tree in trees.values():
        _finish(tree.layers, marks, numbers)
        tree.alike = _number(numbers, ("process", *(node.alike for node in tree.layers)))
    return sorted(trees.values(), key=lambda tree: component_order(tree.head))


def folds(siblings: list[TreeNode]) -> Iterator[Fold]:
    """Yield siblings, those in a row that are alike together."""
    start = 0
    for end in range(1, len(siblings) + 1):
        if end == len(siblings) or siblings[end].alike != siblings[start].alike:
            yield Fold(siblings[start:end])
            start = end


def component_order(component: bytes) -> tuple[int, int, bytes]:
    """Sort ids by their value, before whatever has none."""
    digits = component.partition(b"_")[0]
    return (0, int(digits), component) if digits.isdigit() and len(digits) <= 20 else (1, 0, component)


def _siblings(op: Op, nodes: dict[tuple[bytes, bytes], TreeNode], tree: ProcessTree) -> list[TreeNode]:
    above, slash, _ = op.path.rpartition(b"/")
    parent = nodes.get((op.head, above)) if slash else None
    return tree.layers if parent is None else parent.children


def _finish(layers: list[TreeNode], marks: Sequence[int], numbers: dict[Hashable, int]) -> None:
    """Sort, count and compare, from the leaves up; a path can be of any depth."""
    order = []
    waiting = list(layers)
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(node.children)
    for node in reversed(order):
        own = marks[node.index]
        node.marked = int(own != 0)
        node.children.sort(key=lambda child: component_order(child.component))
        for child in node.children:
            node.count += child.count
            node.marked += child.marked
            node.uniform = node.uniform and child.uniform and marks[child.index] == own
        name = node.component.partition(b"_")[2] or node.component
        node.alike = _number(numbers, (name, own, *(child.alike for child in node.children)))
    layers.sort(key=lambda layer: component_order(layer.component))


def _number(numbers: dict[Hashable, int], what: Hashable) -> int:
    return numbers.setdefault(what, len(numbers))
