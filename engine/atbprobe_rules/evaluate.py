"""Many decisions at once: a program run over arrays of rounds and op paths, as a vectorised evaluator.

The names of all components of all paths are independent of each other, so the name automaton steps through
all of them side by side, byte by byte. An id is read from where those above it led, so that automaton goes
component by component, through all paths side by side. What the states emit is gathered for each path, as
docs/program-format.md says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atbprobe_rules.program import AutomatonTables, Program, Records

DECISION = np.dtype(
    [
        ("rules", "<u8"),
        ("count_in_range", "<u4"),
        ("in_specific_dir", "<u4"),
        ("input_tasks", "<u4"),
        ("output_tasks", "<u4"),
    ]
)
"""What a program says of one op in one round, laid out as AtbprobeDecision in interposer/c_api.h."""

_Masks = npt.NDArray[np.uint64]
_Indices = npt.NDArray[np.int64]

_SLASH = ord("/")
_UNDERSCORE = ord("_")
_MAX_NUMBER = 2**64 - 1
_MAX_DIGITS = len(str(_MAX_NUMBER))


def decide_many(
    program: Program,
    rounds: npt.ArrayLike,
    dirs: Sequence[bytes | str],
    earlier: npt.ArrayLike | None = None,
) -> Records:
    """Decide op `dirs[i]` in round `rounds[i]` for all i; return DECISION records, one for each.

    Conditions are taken as met, and no limit as reached: values and sizes of tensors are not known here.
    `earlier[i]` is how many executions of that op came before this one under the program; None: of all ops
    none. Raises ValueError if there are not as many of them, or of the rounds, as directories. A str stands
    for its UTF-8 bytes, and its surrogate escapes for the bytes they came from.
    """
    numbers = np.asarray(rounds, dtype=np.uint64)
    counts = np.zeros(len(dirs), np.uint64) if earlier is None else np.asarray(earlier, dtype=np.uint64)
    for what, given in (("rounds", numbers), ("earlier executions", counts)):
        if given.shape != (len(dirs),):
            raise ValueError(f"{len(dirs)} directories need as many {what}, not an array of {given.shape}")
    enabled = program.program["enabled_rules"][0]
    by_round = _rules_by_number(program.rounds, program.round_strides, numbers) & enabled
    by_dir = _rules_by_dir(program, [_as_bytes(directory) for directory in dirs]) & enabled

    decisions = np.zeros(len(dirs), dtype=DECISION)
    decisions["rules"] = by_round & by_dir & _rules_by_next(program.actions, counts)
    decisions["count_in_range"] = by_round != 0
    decisions["in_specific_dir"] = by_dir != 0
    for bit, action in enumerate(program.actions):
        selects = (decisions["rules"] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        decisions["input_tasks"][selects] |= action["input_tasks"]
        decisions["output_tasks"][selects] |= action["output_tasks"]
    return decisions


def _as_bytes(directory: bytes | str) -> bytes:
    return directory.encode("utf-8", "surrogateescape") if isinstance(directory, str) else directory


def _rules_by_number(intervals: Records, strides: Records, numbers: _Masks) -> _Masks:
    index = np.searchsorted(intervals["first"], numbers, side="right") - 1
    include = intervals["include"][index]
    exclude = intervals["exclude"][index]
    for stride in strides:
        inside = (numbers >= stride["first"]) & (numbers <= stride["last"])
        inside &= (numbers - stride["first"]) % stride["step"] == 0
        include[inside] |= stride["include"]
        exclude[inside] |= stride["exclude"]
    rules: _Masks = include & ~exclude
    return rules


def _rules_by_next(actions: Records, earlier: _Masks) -> _Masks:
    """Return the rules that still take an op after so many executions of it."""
    rules = np.full(len(earlier), _MAX_NUMBER, dtype=np.uint64)
    for bit in np.flatnonzero(actions["next"]).tolist():
        rules[earlier >= actions["next"][bit]] &= np.uint64(_MAX_NUMBER - (1 << bit))
    return rules


def _rules_by_dir(program: Program, dirs: Sequence[bytes]) -> _Masks:
    """Return the rules that take the op, whatever the round; none for what is no op path."""
    rules = np.zeros(len(dirs), dtype=np.uint64)
    parts = [directory.split(b"/", 2) for directory in dirs]
    ops = np.array([op for op, part in enumerate(parts) if len(part) == 3], dtype=np.int64)
    if len(ops) > 0:
        by_device = _rules_by_device(program, [parts[op][0] for op in ops])
        rules[ops] = by_device & _rules_by_path(program, _Paths.of([parts[op][2] for op in ops]))
    return rules


def _rules_by_device(program: Program, heads: Sequence[bytes]) -> _Masks:
    """Return the rules that take the device that each `<device>_<pid>` names."""
    different, index = np.unique(np.array(heads, dtype=object), return_inverse=True)
    devices = [_device_of(head) for head in different]
    known = np.array([device is not None for device in devices])
    numbers = np.array([device or 0 for device in devices], dtype=np.uint64)
    rules = _rules_by_number(program.devices, program.device_strides, numbers)
    return np.where(known, rules, program.program["unknown_device"][0])[index]


def _device_of(head: bytes) -> int | None:
    text, underscore, _ = head.partition(b"_")
    if not underscore or not text.isdigit():
        return None
    digits = text.lstrip(b"0")
    number = int(digits or b"0") if len(digits) <= _MAX_DIGITS else _MAX_NUMBER + 1
    return number if number <= _MAX_NUMBER else None


@dataclass(frozen=True)
class _Paths:
    """Op paths as one text and the places of their components in it, those of one path after the other."""

    text: npt.NDArray[np.uint8]
    begin: _Indices
    """Where each component begins."""
    end: _Indices
    """Where each component ends."""
    id_end: _Indices
    """Where its id ends, which is at its first `_`; its beginning if there is none."""
    name_begin: _Indices
    first: _Indices
    """Of each path its first component."""
    depth: _Indices
    """Of each path the number of its components, at least 1."""

    @staticmethod
    def of(paths: Sequence[bytes]) -> _Paths:
        text = np.frombuffer(b"/".join(paths) + b"/", dtype=np.uint8)
        end = np.flatnonzero(text == _SLASH)
        begin = np.concatenate([[0], end[:-1] + 1])
        underscores = np.append(np.flatnonzero(text == _UNDERSCORE), len(text))
        underscore = underscores[np.searchsorted(underscores, begin)]
        has_underscore = underscore < end
        depth = np.array([path.count(b"/") + 1 for path in paths], dtype=np.int64)
        return _Paths(
            text,
            begin,
            end,
            id_end=np.where(has_underscore, underscore, begin),
            name_begin=np.where(has_underscore, underscore + 1, begin),
            first=np.cumsum(depth) - depth,
            depth=depth,
        )

    @property
    def last(self) -> _Indices:
        """Of each path its last component, which is the op itself."""
        return self.first + self.depth - 1


@dataclass
class _Registers:
    """What is gathered of each path: masks of rules, shape (paths,)."""

    here: _Masks
    below: _Masks
    excluded: _Masks

    @staticmethod
    def zeros(count: int) -> _Registers:
        return _Registers(*(np.zeros(count, dtype=np.uint64) for _ in range(3)))

    @property
    def hit(self) -> _Masks:
        return self.here | self.below


def _rules_by_path(program: Program, paths: _Paths) -> _Masks:
    record = program.program[0]
    ids = _read_ids(program.ids, paths)
    names = _read_names(program, paths)
    match_all = record["match_all"]
    rules: _Masks = (ids.hit | names.hit) & ~match_all | ids.hit & names.hit & match_all
    rules |= record["select_all"]
    rules[paths.depth == 1] |= record["select_layers"]
    return rules & ~(ids.excluded | names.excluded)


def _scan(
    tables: AutomatonTables, rows: _Indices, text: npt.NDArray[np.uint8], begin: _Indices, end: _Indices
) -> _Indices:
    """Return the rows that text[begin[i]:end[i]] leads to from rows[i]."""
    rows = rows.copy()
    position = begin.copy()
    running = np.flatnonzero((position < end) & (rows >= tables.absorbing))
    while len(running) > 0:
        columns = tables.classes[text[position[running]]]
        rows[running] = tables.transitions[rows[running] + columns]
        position[running] += 1
        running = running[(position[running] < end[running]) & (rows[running] >= tables.absorbing)]
    return rows


def _read_ids(tables: AutomatonTables, paths: _Paths) -> _Registers:
    """Read the ids of each path, joined by `_`; a component without an id leads to the dead state, row 0."""
    registers = _Registers.zeros(len(paths.depth))
    if tables.class_count == 0:
        return registers
    rows = np.full(len(paths.depth), tables.start, dtype=np.int64)
    separator = tables.classes[_UNDERSCORE]
    level = 0
    alive = np.arange(len(rows))
    while len(alive) > 0:
        component = paths.first[alive] + level
        row = rows[alive]
        if level > 0:
            row = tables.transitions[row + separator].astype(np.int64)
        row = _scan(tables, row, paths.text, paths.begin[component], paths.id_end[component])
        row[paths.begin[component] == paths.id_end[component]] = 0
        rows[alive] = row
        emission = tables.emissions[tables.states[row // tables.class_count]]
        registers.here[alive] = emission["here"]
        registers.below[alive] |= emission["below"]
        registers.excluded[alive] |= emission["excluded"]
        level += 1
        alive = alive[(row != 0) & (paths.depth[alive] > level)]
    # A path that died on the way has emitted nothing in the end.
    registers.here[rows == 0] = 0
    return registers


def _read_names(program: Program, paths: _Paths) -> _Registers:
    tables = program.names
    registers = _Registers.zeros(len(paths.depth))
    if tables.class_count == 0:
        return registers
    start = np.full(len(paths.begin), tables.start, dtype=np.int64)
    rows = _scan(tables, start, paths.text, paths.name_begin, paths.end)
    emission_of = tables.states[rows // tables.class_count]
    emissions = tables.emissions[emission_of]
    registers.here |= emissions["here"][paths.last]
    registers.below |= np.bitwise_or.reduceat(emissions["below"], paths.first)
    registers.excluded |= np.bitwise_or.reduceat(emissions["excluded"], paths.first)
    if len(program.path_words) > 0:
        positions = program.name_positions.reshape(-1, len(program.path_words))[emission_of]
        _advance_path_terms(program, paths, positions, registers)
    return registers


def _advance_path_terms(program: Program, paths: _Paths, positions: _Masks, registers: _Registers) -> None:
    """Follow the terms of several parts; `positions` are those that each component's name matches."""
    words = program.path_words
    one, top = np.uint64(1), np.uint64(63)
    matched = np.zeros((len(paths.depth), len(words)), dtype=np.uint64)
    waiting = np.zeros_like(matched)
    # Nothing can be completed below the last component that matches any part.
    used = np.where(positions.any(axis=1), np.arange(len(positions)) + 1, 0)
    depth = np.maximum(np.maximum.reduceat(used, paths.first) - paths.first, 0)
    level = 0
    alive = np.flatnonzero(depth > 0)
    while len(alive) > 0:
        ready = matched[alive] | waiting[alive]
        candidates = ready << one | words["start"]
        candidates[:, 1:] |= ready[:, :-1] >> top
        if level == 0:
            candidates |= words["anchored"]
        matched[alive] = candidates & positions[paths.first[alive] + level]
        waiting[alive] |= matched[alive] & words["sticky"]
        is_last = paths.depth[alive] == level + 1
        _collect(program, matched[alive] & words["accept"], alive, is_last, registers)
        level += 1
        alive = alive[depth[alive] > level]


def _collect(
    program: Program, accepted: _Masks, paths: _Indices, is_last: npt.NDArray[np.bool_], registers: _Registers
) -> None:
    """Add what the accepted positions say; shapes (paths, words), (paths,) and (paths,)."""
    for index in np.flatnonzero(accepted.any(axis=0)).tolist():
        word = program.path_words[index]
        bits = [bit for bit in range(64) if int(word["accept"]) >> bit & 1]
        for rank, bit in enumerate(bits):
            hit = (accepted[:, index] >> np.uint64(bit) & np.uint64(1)).astype(bool)
            accept = program.path_accepts[int(word["accept_base"]) + rank]
            registers.here[paths[hit & is_last]] |= accept["here"]
            registers.below[paths[hit]] |= accept["below"]
            registers.excluded[paths[hit]] |= accept["excluded"]
