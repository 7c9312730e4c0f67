"""The operation at which two runs begin to differ, found from what is known of each tensor.

The operations of one round are a tree, and they run in its order: an operation begins, those below it run one after
the other, and it ends. Its inputs were seen when it began, its outputs when it ended, so a child is judged before its
parent, and both before whatever runs later. Going through the round in that order, the first operation that is wrong
is the answer. An operation is wrong

- at its end, if an output differs, whatever its inputs are like;
- at its begin, if an input differs and nothing can be said of an output, neither its own nor one of those below it:
  of an operation of which only inputs were dumped, these are all there is to go by.

Inputs that differ do not make an operation wrong whose outputs are known. Unused parts of a cache may hold anything,
and what comes of them shows in the outputs. For the same reason an input does not count below an operation all of
whose outputs are equal.

A parent of the answer ends after it. A later operation, whose inputs differ because of it, begins after it. If the
answer has equal inputs, the difference arises in it, or has become too large in it; if not, it came from somewhere that
was not dumped, or that could not be judged. Any other operation with differing outputs is one where a difference arises
for itself if nothing at all tells its inputs apart: inputs that are merely within the thresholds may be what is left of
the first difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

Ids = tuple[int, ...]


class State(Enum):
    """What is known of a set of tensors: of none of them anything; else the worst that is known of one."""

    UNKNOWN = "unknown"
    SAME = "same"  # nothing tells the two dumps apart
    EQUAL = "equal"  # within the thresholds
    DIFFERS = "differs"


_WORSE = list(State)


@dataclass(frozen=True)
class JudgedTensor:
    """A tensor of an operation; `equal` is None where nothing can be said. `position`: its place in the golden dump."""

    ids: Ids
    is_input: bool
    equal: bool | None
    position: int
    is_same: bool = False  # in addition, nothing tells the two apart

    @property
    def state(self) -> State:
        if self.equal is None:
            return State.UNKNOWN
        return State.DIFFERS if not self.equal else State.SAME if self.is_same else State.EQUAL


@dataclass(frozen=True)
class WrongOp:
    """An operation that is wrong, by its outputs or, where nothing is known of these, by its inputs.

    `rank` is its place among all begins and ends of its round.
    """

    ids: Ids
    by_outputs: bool
    inputs: State
    rank: int

    @property
    def arises_here(self) -> bool:
        """Whether its outputs differ, and its inputs are known to be the same."""
        return self.by_outputs and self.inputs is State.SAME


def wrong_operations(tensors: Iterable[JudgedTensor]) -> list[WrongOp]:
    """Return the operations of one round of one device that are wrong, in the order in which they turn out to be.

    The first one is where it begins. Of those that contain another wrong one only the innermost count, so that all
    that `arises_here` are independent of each other.
    """
    root = _tree(tensors)
    found: list[WrongOp] = []
    for rank, (op, ends) in enumerate(_begins_and_ends(root)):
        if op.is_wrong_by_outputs() if ends else op.is_wrong_by_inputs():
            found.append(WrongOp(op.ids, ends, op.inputs, rank))
            for above in op.ancestors():
                above.contains_wrong = True
    return found


@dataclass
class _Op:
    ids: Ids
    parent: _Op | None = None
    children: dict[int, _Op] = field(default_factory=dict)
    first_position: int | None = None
    inputs: State = State.UNKNOWN
    outputs: State = State.UNKNOWN
    has_known_output: bool = False  # its own, or of one below it
    contains_wrong: bool = False

    def child(self, id_number: int) -> _Op:
        if id_number not in self.children:
            self.children[id_number] = _Op((*self.ids, id_number), self)
        return self.children[id_number]

    def take(self, tensor: JudgedTensor) -> None:
        if tensor.is_input:
            self.inputs = max(self.inputs, tensor.state, key=_WORSE.index)
            return
        self.outputs = max(self.outputs, tensor.state, key=_WORSE.index)
        if self.outputs is State.UNKNOWN:
            return
        for op in (self, *self.ancestors()):
            op.has_known_output = True

    def ancestors(self) -> Iterator[_Op]:
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    def is_wrong_by_outputs(self) -> bool:
        return self.outputs is State.DIFFERS and not self.contains_wrong

    def is_wrong_by_inputs(self) -> bool:
        if self.inputs is not State.DIFFERS or self.has_known_output:
            return False
        return all(above.outputs in (State.UNKNOWN, State.DIFFERS) for above in self.ancestors())


def _tree(tensors: Iterable[JudgedTensor]) -> _Op:
    root = _Op(())
    for tensor in tensors:
        op = root
        for id_number in tensor.ids:
            op = op.child(id_number)
            if op.first_position is None or tensor.position < op.first_position:
                op.first_position = tensor.position
        op.take(tensor)
    return root


def _begins_and_ends(root: _Op) -> Iterator[tuple[_Op, bool]]:
    """Every operation twice, before and behind those below it; without recursion, as names come from a file."""
    stack = [(child, False) for child in _last_first(root)]
    while stack:
        op, ends = stack.pop()
        yield op, ends
        if not ends:
            stack.append((op, True))
            stack += [(child, False) for child in _last_first(op)]


def _last_first(op: _Op) -> list[_Op]:
    return sorted(op.children.values(), key=lambda child: child.first_position or 0, reverse=True)
