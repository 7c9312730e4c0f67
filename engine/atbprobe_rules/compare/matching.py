"""Which tensor of the one dump is which of the other.

A tensor is known by its device, its round, the id path of its operation, input or output, and its number among these.
Names do not count: releases differ in whether a file carries its parameter's name, and a plug-in operation is called
otherwise than the built-in one in whose place it stands. A map says where devices, rounds or operations of the target
have other numbers than those of golden.

Processes have other ids in every run, so they are matched by device, those of one device in the order of their ids.
Where either dump has one process only, these two belong together whatever their devices are. What another process of
the same id has left (`0_1234.old1`) is passed over in a whole dump.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from atbprobe_rules.compare.number_map import NumberMap
from atbprobe_rules.dump.op import StoredTensor
from atbprobe_rules.dump.tree import Device, Dump, Round
from atbprobe_rules.errors import AtbprobeError

Key = tuple[tuple[int, ...], str, int | str]
Item = TypeVar("Item")


class UnlikePartsError(AtbprobeError):
    """A round cannot be compared with several."""


@dataclass(frozen=True)
class Matched:
    """What belongs together, in the order of golden, and what is on one side only."""

    pairs: list[tuple[StoredTensor, StoredTensor]]
    only_golden: list[StoredTensor]
    only_target: list[StoredTensor]


@dataclass(frozen=True)
class RoundPair:
    """The same round of the same device of both dumps; None where one does not have it."""

    golden: Round | None
    target: Round | None


def match_rounds(golden: Dump, target: Dump, numbers: NumberMap) -> tuple[list[RoundPair], list[str]]:
    """Return all rounds of both dumps, golden's in order, and notes on what was decided.

    Raises UnlikePartsError if one is a single round and the other has several.
    """
    if _is_round(golden) or _is_round(target):
        all_golden, all_target = list(golden.rounds), list(target.rounds)
        if len(all_golden) != 1 or len(all_target) != 1:
            raise UnlikePartsError("one of the two is a single round, and the other is not")
        return [RoundPair(all_golden[0], all_target[0])], []
    notes: list[str] = []
    pairs: list[RoundPair] = []
    for device, other_device in _match_devices(golden, target, numbers, notes):
        rounds = {} if device is None else {one.number: one for one in device.rounds}
        others_by_number = {} if other_device is None else {one.number: one for one in other_device.rounds}
        for number, one in rounds.items():
            found = None if number is None else others_by_number.pop(numbers.round(number), None)
            pairs.append(RoundPair(_afresh(one), None if found is None else _afresh(found)))
        pairs += [RoundPair(None, _afresh(one)) for one in others_by_number.values()]
    return pairs, notes


def match_tensors(golden: Round, target: Round, numbers: NumberMap) -> Matched:
    """Match the tensors of two rounds."""
    waiting: dict[Key, list[StoredTensor]] = defaultdict(list)
    for tensor in target.tensors:
        waiting[_key(tensor, tensor.op.id_path)].append(tensor)
    pairs = []
    only_golden = []
    for tensor in golden.tensors:
        candidates = waiting.get(_key(tensor, numbers.op(tensor.op.id_path)))
        if candidates:
            pairs.append((tensor, _take_likest(candidates, tensor)))
        else:
            only_golden.append(tensor)
    left = {id(tensor) for tensors in waiting.values() for tensor in tensors}
    return Matched(pairs, only_golden, [tensor for tensor in target.tensors if id(tensor) in left])


def _key(tensor: StoredTensor, ids: tuple[int, ...]) -> Key:
    return (ids, tensor.io, tensor.name.label if tensor.index is None else tensor.index)


def _take_likest(candidates: list[StoredTensor], tensor: StoredTensor) -> StoredTensor:
    """Nearly always there is one. A round in which an operation ran twice with two kernels has more."""
    for place, candidate in enumerate(candidates):
        if candidate.op.names == tensor.op.names and candidate.name == tensor.name:
            return candidates.pop(place)
    return candidates.pop(0)


def _is_round(dump: Dump) -> bool:
    return any(device.only_round is not None for device in dump.devices)


def _afresh(one: Round) -> Round:
    """Return the same round, not held by its device: its content goes when it has been compared."""
    return Round(one.path, one.device)


def _match_devices(
    golden: Dump, target: Dump, numbers: NumberMap, notes: list[str]
) -> list[tuple[Device | None, Device | None]]:
    devices, others = _current(golden, notes), _current(target, notes)
    if len(devices) == len(others) == 1:
        return [(devices[0], others[0])]
    by_number: dict[int | None, list[Device]] = defaultdict(list)
    for other in others:
        by_number[other.number].append(other)
    matched: list[tuple[Device | None, Device | None]] = []
    for device in devices:
        candidates = by_number[None if device.number is None else numbers.device(device.number)]
        matched.append((device, candidates.pop(0) if candidates else None))
    matched += [(None, other) for candidates in by_number.values() for other in candidates]
    if _repeated(devices) or _repeated(others):
        couples = [f"{device.path.name} with {other.path.name}" for device, other in matched if device and other]
        notes.append(f"several processes share a device; matched by the order of their ids: {', '.join(couples)}")
    return matched


def _current(dump: Dump, notes: list[str]) -> list[Device]:
    kept = [device for device in dump.devices if device.name is None or not device.name.suffix.startswith(".old")]
    if not kept:
        return dump.devices
    for device in dump.devices:
        if device not in kept:
            notes.append(f"passed over, as the dump of an earlier process: {device.path}")
    return kept


def _repeated(devices: Iterable[Device]) -> bool:
    numbers = [device.number for device in devices]
    return len(set(numbers)) < len(numbers)
