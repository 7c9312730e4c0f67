"""What the calls of a setup tell of a layer-level operation: the tree below it, its kernels, its graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PLUGIN_TYPE = "PluginOperation"
DIR_HEAD = re.compile(r"(?P<device>-?\d+)_(?P<pid>\d+)/(?P<setup>\d+)/")


@dataclass
class Node:
    """An operation: ``name`` is its type in questions and its name in paths."""

    ids: tuple[int, ...]
    name: str
    wanted: bool = False  # the cached answer of IsTensorNeedSave
    path: str = ""  # "1_Prefill_layer/1_Attention"
    children: list[Node] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    tensor_counts: tuple[int, int] | None = None  # of inputs and outputs, from the reported graph


@dataclass
class Kernel:
    """A kernel: what it is called shows only once it is asked for by directory."""

    ids: tuple[int, ...]
    parent: Node
    wanted: bool = False
    path: str = ""


class OperationTree:
    """Built from IsTensorNeedSave calls, which come children before parents and in order of ids."""

    def __init__(self) -> None:
        self._open: list[Node] = []  # operations whose parent has not been asked for yet
        self.top: Node

    def add(self, ids: tuple[int, ...], name: str, wanted: bool) -> None:
        """Add an operation below the top one; ValueError if it is not its turn."""
        if len(ids) < 2 or (self._open and self._open[0].ids[0] != ids[0]):
            raise ValueError(f"operation {ids} does not belong here")
        children = self._take_children(ids)
        siblings = [node for node in self._open if node.ids[:-1] == ids[:-1]]
        if len(siblings) != ids[-1] or any(len(node.ids) > len(ids) for node in self._open):
            raise ValueError(f"operation {ids} comes out of order")
        self._open.append(Node(ids, name, wanted, children=children))

    def close(self, ids: tuple[int, ...], name: str) -> None:
        """Put the top operation over all others; ValueError if they are not all below it."""
        children = self._take_children(ids)
        if len(ids) != 1 or self._open:
            raise ValueError(f"operation {ids} is not the parent of {[node.ids for node in self._open]}")
        self.top = Node(ids, name, children=children)
        self._name_paths(self.top, "")

    def _take_children(self, ids: tuple[int, ...]) -> list[Node]:
        children = [node for node in self._open if node.ids[:-1] == ids]
        self._open = [node for node in self._open if node.ids[:-1] != ids]
        return children

    def _name_paths(self, node: Node, parent_path: str) -> None:
        node.path = f"{parent_path}{node.ids[-1]}_{node.name}"
        for child in node.children:
            self._name_paths(child, f"{node.path}/")

    def children_first(self) -> Iterator[Node]:
        """All operations, every one after those below it."""
        yield from _children_first(self.top)


def _children_first(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield from _children_first(child)
    yield node


@dataclass
class Layer:
    """A layer-level operation and its counts."""

    tree: OperationTree
    setups: int = 0
    executes: int = 0
    dirs_known: bool = False  # the last answer of IsSaveTensorDesc
    head: str = ""  # "<device>_<pid>/", once a directory was seen

    def dir_of(self, path: str) -> str:
        """The directory of an operation; its number counts setups. Empty while the host has none."""
        return f"{self.head}{self.setups - 1}/{path}" if self.dirs_known else ""

    def learn_device(self, directory: str, pid: int) -> str:
        """Take the device from the first directory seen; what is wrong with it, "" if nothing is."""
        match = DIR_HEAD.match(directory)
        if match is None or int(match["pid"]) != pid:
            return f"{directory!r} does not begin with <device>_<pid>/<setup>/"
        self.head = self.head or f"{match['device']}_{match['pid']}/"
        return ""


def graph_mismatch(tree: OperationTree, args: Mapping[str, Any]) -> str:
    """How a reported graph differs from the tree of the operation, "" if it does not; notes the tensor counts."""
    top = tree.top
    try:
        graph = json.loads(args["graph"])
    except ValueError as error:
        return f"the graph is not JSON: {error}"
    if args["opName"] != f"{top.name}_{top.ids[0]}":
        return f"the graph is called {args['opName']}, the operation {top.name} {top.ids}"
    return _node_mismatch(top, graph, None)


def _node_mismatch(node: Node, graph: Mapping[str, Any], parent_tensors: int | None) -> str:
    expected = {"inTensorNum", "opName", "opType", "outTensorNum", "param"}
    if parent_tensors is not None:
        expected |= {"inTensorIds", "outTensorIds"}
    if node.children:
        expected |= {"internalTensorNum", "nodes"}
    if list(graph) != sorted(expected):
        return f"the graph of {node.path} has the keys {list(graph)}, not {sorted(expected)}"
    ids = "_".join(map(str, node.ids))
    if graph["opType"] not in (node.name, PLUGIN_TYPE) or graph["opName"] != f"{graph['opType']}_{ids}":
        return f"{node.path} is called {graph['opName']} of type {graph['opType']} in the graph"
    node.tensor_counts = (graph["inTensorNum"], graph["outTensorNum"])
    if parent_tensors is not None:
        lists = (graph["inTensorIds"], graph["outTensorIds"])
        if tuple(map(len, lists)) != node.tensor_counts:
            return f"{node.path} has {node.tensor_counts} tensors, but ids {lists}"
        if not all(0 <= tensor < parent_tensors for tensors in lists for tensor in tensors):
            return f"{node.path} has a tensor id beyond its parent's {parent_tensors} tensors"
    if not node.children:
        return ""
    if len(graph["nodes"]) != len(node.children):
        return f"{node.path} has {len(node.children)} children, {len(graph['nodes'])} in the graph"
    tensors = sum(node.tensor_counts) + graph["internalTensorNum"]
    pairs = zip(node.children, graph["nodes"], strict=True)
    return next((problem for child, nodes in pairs if (problem := _node_mismatch(child, nodes, tensors))), "")
