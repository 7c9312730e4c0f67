"""Ops from the files of info/: the graph of a layer, or of a model with the graphs of its layers.

A node is called `<type>_<ids joined by _>`. Kernels are in no graph. What does not look like a node is passed over
and counted: a host can report anything.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atbprobe_rules.catalogue.ops import UNKNOWN_HEAD, CatalogueBuilder, Key
from atbprobe_rules.errors import AtbprobeError

MAX_GRAPH_BYTES = 128 << 20
"""As large as the probe writes them."""

_IDS = re.compile(r"(?:_[0-9]+)+")
_TRAILING_IDS = re.compile(r"(?s)(.*?)((?:_[0-9]+)+)")
_PROCESS = re.compile(r"-?[0-9]+_[0-9]+(?:\..*)?")


class GraphError(AtbprobeError):
    """A file holds no graph."""


@dataclass(frozen=True)
class _Node:
    ids: Key
    type: str
    children: Any


def add_graph_file(builder: CatalogueBuilder, path: Path, text: bytes | None = None) -> None:
    """Add the ops of a file of info/; `text` is its content if that is known. Raises GraphError, OSError.

    The folder that it lies in names the process, with device and pid or the pid alone.
    """
    if text is None:
        with path.open("rb") as file:
            text = file.read(MAX_GRAPH_BYTES + 1)
    if len(text) > MAX_GRAPH_BYTES:
        raise GraphError(f"{path}: larger than any graph that the probe writes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise GraphError(f"{path}: this is no graph: {why}") from None
    if not isinstance(document, dict):
        raise GraphError(f"{path}: this is no graph: not an object")
    head = head_of_folder(path.absolute().parent.name)
    passed_over = _add_nodes(builder, head, [document] if "modelName" not in document else document.get("nodes"))
    if passed_over:
        builder.notes.append(f"{path}: what has no name with ids is left out, {passed_over:,} of its nodes")


def head_of_folder(name: str) -> bytes:
    """Return the `<device>_<pid>` that a folder of data/ or info/ is called by, without what tells runs apart."""
    if _PROCESS.fullmatch(name):
        return name.partition(".")[0].encode()
    if name.isascii() and name.isdecimal():
        return b"-1_" + name.encode()
    return UNKNOWN_HEAD


def _add_nodes(builder: CatalogueBuilder, head: bytes, nodes: Any) -> int:
    """Add nodes and all below; return how many were none."""
    passed_over = 0
    waiting: list[tuple[Any, Key]] = [(nodes, ())]
    while waiting:
        siblings, above = waiting.pop()
        if siblings is None:
            continue
        if not isinstance(siblings, list):
            passed_over += 1
            continue
        for value in siblings:
            node = _node(value, above)
            if node is None:
                passed_over += 1
                continue
            builder.add_graph_op(head, node.ids, node.type.encode("utf-8", "surrogatepass").replace(b"/", b"%2F"))
            waiting.append((node.children, node.ids))
    return passed_over


def _node(value: Any, above: Key) -> _Node | None:
    """Take a node's name apart; inside of another node its ids begin with that one's."""
    if not isinstance(value, dict) or not isinstance(name := value.get("opName"), str):
        return None
    op_type = value.get("opType")
    if isinstance(op_type, str) and name.startswith(op_type) and _IDS.fullmatch(name, len(op_type)):
        ids_text = name[len(op_type) :]
    else:
        match = _TRAILING_IDS.fullmatch(name)
        if match is None:
            return None
        op_type, ids_text = match[1], match[2]
    ids = tuple(part.encode() for part in ids_text[1:].split("_"))
    if ids[: len(above)] != above or len(ids) != len(above) + 1:
        ids = (*above, ids[-1])
    return _Node(ids, op_type, value.get("nodes"))
