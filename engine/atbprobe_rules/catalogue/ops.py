"""The ops of one or more processes, whatever they are known from.

An op is known by `head`, the `<device>_<pid>` of its process, and by its path (`2_Prefill_layer/1_Attention`). Graphs
know ids and types only: a plug-in is `PluginOperation` there and has a name of its own in paths, so what comes from a
graph is joined by ids with what comes from paths, and the name in the path counts. Every op on the way to a known one
is an op as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from atbprobe_rules.op_path import parse_op_path

PLUGIN_TYPE = b"PluginOperation"
UNKNOWN_HEAD = b"-1_0"
"""Of a process of which nothing is known, as the host writes it: no device."""

Key = tuple[bytes, ...]
"""The texts of the ids from the layer-level op down; of a component without one, all of it."""


@dataclass(frozen=True, slots=True)
class TensorSize:
    """One input or output; `bytes` is None if unknown.

    `index` is what follows intensor or outtensor in a file's name.
    """

    index: str
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int | None


@dataclass(slots=True)
class Execution:
    """The tensors of one execution of an op; `round` is None if the source does not tell it."""

    round: int | None
    inputs: list[TensorSize] = field(default_factory=list)
    outputs: list[TensorSize] = field(default_factory=list)


@dataclass(slots=True)
class Op:
    """An op of one process. `in_path` is False if only a graph knows it, so that its name may be another.

    `executions` are those whose tensors the source tells.
    """

    head: bytes
    path: bytes
    in_path: bool
    in_graph: bool = False
    executions: Sequence[Execution] = ()

    @property
    def is_plugin(self) -> bool:
        """Whether the name is not known: a graph calls all plug-ins alike."""
        return not self.in_path and self.path.rpartition(b"_")[2] == PLUGIN_TYPE


@dataclass(frozen=True)
class Catalogue:
    """All ops, each once; `sources` says where from, `notes` what was left out."""

    ops: tuple[Op, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ops)


class CatalogueBuilder:
    """Gathers ops from any number of sources."""

    def __init__(self) -> None:
        self._named: dict[tuple[bytes, bytes], Op] = {}
        self._graphs: dict[tuple[bytes, Key], bytes] = {}
        self._sources: list[str] = []
        self.notes: list[str] = []

    def add_source(self, description: str) -> None:
        """Say where the ops that follow are from."""
        self._sources.append(description)

    def add_op(self, head: bytes, path: bytes) -> Op:
        """Add an op by its path, and all that are above it."""
        found = self._named.get((head, path))
        if found is not None:
            return found
        missing = [path]
        end = path.rfind(b"/")
        while end > 0 and (head, path[:end]) not in self._named:
            missing.append(path[:end])
            end = path.rfind(b"/", 0, end)
        for each in reversed(missing):
            self._named[head, each] = Op(head, each, in_path=True)
        return self._named[head, path]

    def add_directory(self, directory: bytes) -> Op | None:
        """Add an op by the directory that the host names it by; None if that is no op path."""
        parts = directory.split(b"/", 2)
        if len(parts) < 3 or not parts[2]:
            return None
        return self.add_op(parts[0], parts[2])

    def add_graph_op(self, head: bytes, ids: Key, op_type: bytes) -> None:
        """Add an op that a graph tells of."""
        self._graphs.setdefault((head, ids), op_type)

    def build(self) -> Catalogue:
        """Join what was gathered."""
        ops = list(self._named.values())
        if self._graphs:
            ops += self._join_graphs(ops)
        plugins = sum(op.is_plugin for op in ops)
        if plugins:
            self.notes.append(
                f"{plugins:,} plug-in operations are known from graphs alone, which do not tell their names"
                if plugins > 1
                else "one plug-in operation is known from a graph alone, which does not tell its name"
            )
        return Catalogue(tuple(ops), tuple(self._sources), tuple(self.notes))

    def _join_graphs(self, named: Sequence[Op]) -> list[Op]:
        """Mark the ops that graphs know too, and return those that nothing else knows."""
        by_ids = {(op.head, key_of(op.path)): op for op in named}
        only_here = []
        for head, ids in sorted(self._graphs, key=lambda place: len(place[1])):
            known = by_ids.get((head, ids))
            if known is None:
                known = by_ids[head, ids] = Op(head, self._graph_path(head, ids, by_ids), in_path=False)
                only_here.append(known)
            known.in_graph = True
        return only_here

    def _graph_path(self, head: bytes, ids: Key, by_ids: dict[tuple[bytes, Key], Op]) -> bytes:
        """Name an op by its type, below what is known to be above it."""
        above = by_ids.get((head, ids[:-1]))
        if above is not None:
            start = above.path + b"/"
        else:
            types = [self._graphs.get((head, ids[:end]), b"") for end in range(1, len(ids))]
            start = b"".join(id + b"_" + name + b"/" for id, name in zip(ids, types, strict=False))
        return start + ids[-1] + b"_" + self._graphs[head, ids]


def key_of(path: bytes) -> Key:
    """Return the ids of a path; a component without a `_` stands for itself."""
    return tuple(component.partition(b"_")[0] for component in path.split(b"/"))


def id_path(path: bytes) -> str:
    """Return the ids of a path as rules write them: ``2_1_0``; safe to print only if all are digits."""
    return b"_".join(key_of(path)).decode("utf-8", "surrogateescape")


def names_of(path: bytes) -> list[str]:
    """Return the names on the way to an op, that of the layer-level op first."""
    parsed = parse_op_path(b"/0/" + path)
    assert parsed is not None
    return [component.name.decode("utf-8", "surrogateescape") for component in parsed.components]


def execution_of(op: Op, round_number: int | None) -> Execution:
    """Return the execution of that round, a new one if there is none."""
    for execution in reversed(op.executions):
        if execution.round == round_number:
            return execution
    made = Execution(round_number)
    op.executions = [*op.executions, made]
    return made
