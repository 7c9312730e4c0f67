"""Graphs for hypothesis: such as ATB reports, and such as nobody should."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

# Without those floats that Python writes otherwise than the files do.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not 1e15 <= abs(x) < 1e16)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | FLOATS | st.text(max_size=8)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
COUNTS = st.integers(0, 3)
MAX_DEPTH = 3


@st.composite
def operations(draw: st.DrawFn, tensors_of_parent: int | None = None, depth: int = 0) -> dict[str, Any]:
    """A layer, or an operation below it when the number of its parent's tensors is given."""
    graph: dict[str, Any] = {"opName": draw(st.text(min_size=1, max_size=6)), "opType": draw(st.text(max_size=6))}
    graph["param"] = draw(JSON)
    tensors = 0
    for ids, count in (("inTensorIds", "inTensorNum"), ("outTensorIds", "outTensorNum")):
        if tensors_of_parent is None:
            graph[count] = draw(COUNTS)
        else:
            limit = 0 if tensors_of_parent == 0 else 3
            graph[ids] = draw(st.lists(st.integers(0, max(tensors_of_parent - 1, 0)), max_size=limit))
            graph[count] = len(graph[ids])
        tensors += graph[count]
    if depth < MAX_DEPTH and draw(st.booleans()):
        graph["internalTensorNum"] = draw(COUNTS)
        tensors += graph["internalTensorNum"]
        graph["nodes"] = draw(st.lists(operations(tensors, depth + 1), max_size=3))
    return graph


KEYS = [
    *("opName", "name", "opType", "param", "nodes", "modelName"),
    *("inTensorNum", "outTensorNum", "internalTensorNum"),
    *("inTensorIds", "outTensorIds", "inTensors", "outTensors"),
]
# Every key that means something, with anything in it.
ODD_GRAPHS = st.recursive(
    JSON | st.integers(-(10**30), 10**30) | st.sampled_from([1e308, -1.5, 65536, 65537]),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner | st.lists(inner, max_size=3), max_size=8),
    max_leaves=20,
)
