"""Which operation is named: one culprit, in every way in which a dump can show or hide it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from atbprobe_rules.compare.first_difference import JudgedTensor, State, WrongOp, wrong_operations

LAYER = (2,)
NORM, NORM_KERNEL = (2, 0), (2, 0, 0)
ATTENTION = (2, 1)
QUERY, QUERY_KERNEL = (2, 1, 0), (2, 1, 0, 0)
OUT, OUT_KERNEL = (2, 1, 1), (2, 1, 1, 0)
ADD, ADD_KERNEL = (2, 2), (2, 2, 0)
NEXT_LAYER = (3,)

# What runs in a layer, in order: (op, begins) and (op, ends). Everything feeds the next one.
LEAVES = [NORM_KERNEL, QUERY_KERNEL, OUT_KERNEL, ADD_KERNEL]
TREE = [
    *[(LAYER, True), (NORM, True), (NORM_KERNEL, True), (NORM_KERNEL, False), (NORM, False)],
    *[(ATTENTION, True), (QUERY, True), (QUERY_KERNEL, True), (QUERY_KERNEL, False), (QUERY, False)],
    *[(OUT, True), (OUT_KERNEL, True), (OUT_KERNEL, False), (OUT, False), (ATTENTION, False)],
    *[(ADD, True), (ADD_KERNEL, True), (ADD_KERNEL, False), (ADD, False), (LAYER, False)],
    *[(NEXT_LAYER, True), (NEXT_LAYER, False)],
]
Op = tuple[int, ...]


def run(culprit: Op, dumped: Callable[[Op, bool], bool] = lambda op, begins: True) -> list[JudgedTensor]:
    """A run in which what comes after the end of `culprit` differs; only what `dumped` says is known."""
    wrong = False
    tensors = []
    for position, (op, begins) in enumerate(TREE):
        wrong = wrong or (op == culprit and not begins)
        if dumped(op, begins):
            tensors.append(JudgedTensor(op, begins, not wrong, position, is_same=not wrong))
    return tensors


def first(tensors: list[JudgedTensor]) -> Op | None:
    found = wrong_operations(tensors)
    return found[0].ids if found else None


@pytest.mark.parametrize("culprit", [*LEAVES, NEXT_LAYER, ADD, LAYER, ATTENTION])
def test_with_everything_dumped_it_is_the_culprit_and_nothing_else_arises(culprit: Op) -> None:
    found = wrong_operations(run(culprit))
    assert found[0] == WrongOp(culprit, True, State.SAME, TREE.index((culprit, False)))
    assert [wrong.ids for wrong in found if wrong.arises_here] == [culprit]


@pytest.mark.parametrize(
    ("culprit", "named"),
    [(QUERY_KERNEL, OUT), (OUT_KERNEL, ADD), (ADD_KERNEL, NEXT_LAYER), (NORM_KERNEL, ATTENTION), (NEXT_LAYER, None)],
)
def test_of_inputs_alone_it_is_the_first_that_takes_the_difference_in(culprit: Op, named: Op | None) -> None:
    found = wrong_operations(run(culprit, lambda op, begins: begins))
    assert (found[0].ids if found else None) == named
    assert not any(wrong.arises_here for wrong in found)


@pytest.mark.parametrize("culprit", LEAVES)
def test_of_outputs_alone_it_is_the_culprit(culprit: Op) -> None:
    (found, *_) = wrong_operations(run(culprit, lambda op, begins: not begins))
    assert (found.ids, found.inputs, found.arises_here) == (culprit, State.UNKNOWN, False)


@pytest.mark.parametrize("culprit", LEAVES)
def test_of_layers_alone_it_is_the_layer(culprit: Op) -> None:
    assert first(run(culprit, lambda op, begins: len(op) == 1)) == LAYER


def test_kernels_alone() -> None:
    for culprit in LEAVES:
        assert first(run(culprit, lambda op, begins: len(op) > 1 and op[-2:] == (op[-2], 0))) == culprit


def test_inputs_of_kernels_and_all_of_layers() -> None:
    tensors = run(QUERY_KERNEL, lambda op, begins: len(op) == 1 or (begins and op in LEAVES))
    assert wrong_operations(tensors)[0].ids == OUT_KERNEL


def test_an_output_that_is_missing_leaves_the_word_to_the_next_operation() -> None:
    tensors = run(QUERY_KERNEL, lambda op, begins: begins or op not in (QUERY, QUERY_KERNEL))
    (found, *_) = wrong_operations(tensors)
    assert found.ids == OUT_KERNEL
    assert (found.by_outputs, found.inputs, found.arises_here) == (True, State.DIFFERS, False)


def test_what_came_from_outside_is_named_where_it_is_used() -> None:
    """A weight that differs: an input of the layer, of the attention, and of the operation that uses it."""
    tensors = [tensor for tensor in run(QUERY_KERNEL)]
    tensors += [JudgedTensor(op, True, False, position) for op, position in ((LAYER, 0), (ATTENTION, 5), (QUERY, 6))]
    tensors.append(JudgedTensor(QUERY_KERNEL, True, False, 7))
    (found, *_) = wrong_operations(tensors)
    assert (found.ids, found.inputs, found.arises_here) == (QUERY_KERNEL, State.DIFFERS, False)


def test_an_input_without_consequences_is_no_difference() -> None:
    """The unused part of a cache."""
    tensors = [*run((9,)), JudgedTensor(ATTENTION, True, False, 5)]
    assert wrong_operations(tensors) == []
    only_input_below = [tensor for tensor in run((9,)) if tensor.ids != QUERY_KERNEL]
    assert wrong_operations([*only_input_below, JudgedTensor(QUERY_KERNEL, True, False, 7)]) == []


def test_two_culprits_are_told_in_their_order() -> None:
    late = {(op, begins): equal.equal for equal, (op, begins) in zip(run(ADD_KERNEL), TREE, strict=True)}
    tensors = []
    for tensor, (op, begins) in zip(run(NORM_KERNEL), TREE, strict=True):
        healed = op in (ATTENTION, *LEAVES[1:3], QUERY, OUT) or (op in (ADD, ADD_KERNEL) and begins)
        equal = late[op, begins] if healed else tensor.equal
        tensors.append(JudgedTensor(op, begins, equal, tensor.position, is_same=bool(equal)))
    arisen = [wrong.ids for wrong in wrong_operations(tensors) if wrong.arises_here]
    assert arisen == [NORM_KERNEL, ADD_KERNEL]


def test_what_is_left_of_a_difference_is_no_second_one() -> None:
    """Inputs within the thresholds, but not the same, of an operation behind the first."""
    tensors = [
        *(JudgedTensor(NORM, True, True, 0, is_same=True), JudgedTensor(NORM, False, False, 1)),
        *(JudgedTensor(ADD, True, True, 2), JudgedTensor(ADD, False, False, 3)),
    ]
    assert [(wrong.ids, wrong.inputs, wrong.arises_here) for wrong in wrong_operations(tensors)] == [
        (NORM, State.SAME, True),
        (ADD, State.EQUAL, False),
    ]


def test_tensors_that_cannot_be_judged_say_nothing() -> None:
    unknown = [JudgedTensor(tensor.ids, tensor.is_input, None, tensor.position) for tensor in run(QUERY_KERNEL)]
    assert wrong_operations(unknown) == []


def test_the_order_is_that_of_execution_and_not_of_ids() -> None:
    tensors = [
        JudgedTensor((5,), False, False, 0),
        JudgedTensor((1,), True, False, 1),
        JudgedTensor((1,), False, False, 2),
    ]
    assert [wrong.ids for wrong in wrong_operations(tensors)] == [(5,), (1,)]


def test_a_very_deep_operation() -> None:
    deep = tuple([0] * 5000)
    assert first([JudgedTensor(deep, False, False, 0), JudgedTensor((0,), False, False, 1)]) == deep
