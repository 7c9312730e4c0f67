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

from atbprobe_rules.op_texts import Indices, OpPaths, Texts
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

Masks = npt.NDArray[np.uint64]
"""Sets of rules, or of whatever else are the bits."""

_UNDERSCORE = ord("_")
_MAX_NUMBER = 2**64 - 1
_STEPS_BETWEEN_LOOKS = 4


def decide_many(
    program: Program,
    rounds: npt.ArrayLike,
    dirs: Sequence[bytes | str] | OpPaths,
    earlier: npt.ArrayLike | None = None,
) -> Records:
    """Decide op `dirs[i]` in round `rounds[i]` for all i; return DECISION records, one for each.

    Conditions are taken as met, and no limit as reached: values and sizes of tensors are not known here.
    `earlier[i]` is how many executions of that op came before this one under the program; None: of all ops
    none. Raises ValueError if there are not as many of them, or of the rounds, as directories. A str stands
    for its UTF-8 bytes, and its surrogate escapes for the bytes they came from. Directories that are taken apart
    already are decided with rounds for all strings that they were found among.
    """
    numbers = np.asarray(rounds, dtype=np.uint64)
    paths = dirs if isinstance(dirs, OpPaths) else OpPaths.of(Texts.of(dirs))
    size = len(numbers) if isinstance(dirs, OpPaths) else len(dirs)
    counts = np.zeros(size, np.uint64) if earlier is None else np.asarray(earlier, dtype=np.uint64)
    for what, given in (("rounds", numbers), ("earlier executions", counts)):
        if given.shape != (size,):
            raise ValueError(f"{size} directories need as many {what}, not an array of {given.shape}")
    by_round = rules_by_round(program, numbers)
    by_dir = np.zeros(size, dtype=np.uint64)
    by_dir[paths.ops] = rules_by_path(program, paths) & rules_by_device(program, paths)

    decisions = np.zeros(size, dtype=DECISION)
    decisions["rules"] = by_round & by_dir & _rules_by_next(program.actions, counts)
    decisions["count_in_range"] = by_round != 0
    decisions["in_specific_dir"] = by_dir != 0
    for bit, action in enumerate(program.actions):
        selects = (decisions["rules"] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        decisions["input_tasks"][selects] |= action["input_tasks"]
        decisions["output_tasks"][selects] |= action["output_tasks"]
    return decisions


def rules_by_round(program: Program, rounds: Masks) -> Masks:
    """Return the rules that take each round, whatever the op; none while dumping is off."""
    rules = rules_by_number(program.rounds, program.round_strides, rounds)
    rules &= program.program["enabled_rules"][0]
    return rules


def rules_by_device(program: Program, paths: OpPaths) -> Masks:
    """Return the rules that take the device of each path; none while dumping is off."""
    rules = rules_by_number(program.devices, program.device_strides, paths.devices)
    rules[~paths.device_known] = program.program["unknown_device"][0]
    rules &= program.program["enabled_rules"][0]
    return rules


def rules_by_number(intervals: Records, strides: Records, numbers: Masks) -> Masks:
    """Return the rules that take each number, a round or a device, whether or not dumping is on."""
    index = np.searchsorted(intervals["first"], numbers, side="right") - 1
    include = intervals["include"][index]
    exclude = intervals["exclude"][index]
    for stride in strides:
        inside = (numbers >= stride["first"]) & (numbers <= stride["last"])
        inside &= (numbers - stride["first"]) % stride["step"] == 0
        include[inside] |= stride["include"]
        exclude[inside] |= stride["exclude"]
    rules: Masks = include & ~exclude
    return rules


def _rules_by_next(actions: Records, earlier: Masks) -> Masks:
    """Return the rules that still take an op after so many executions of it."""
    rules = np.full(len(earlier), _MAX_NUMBER, dtype=np.uint64)
    for bit in np.flatnonzero(actions["next"]).tolist():
        rules[earlier >= actions["next"][bit]] &= np.uint64(_MAX_NUMBER - (1 << bit))
    return rules


@dataclass
class _Registers:
    """What is gathered of each path: masks of rules, shape (paths,)."""

    here: Masks
    below: Masks
    excluded: Masks

    @staticmethod
    def zeros(count: int) -> _Registers:
        return _Registers(*(np.zeros(count, dtype=np.uint64) for _ in range(3)))

    @property
    def hit(self) -> Masks:
        return self.here | self.below


def rules_by_path(program: Program, paths: OpPaths) -> Masks:
    """Return the rules that take each op by its ids and names; none while dumping is off."""
    record = program.program[0]
    ids = _read_ids(program.ids, paths)
    names = _read_names(program, paths)
    match_all = record["match_all"]
    rules: Masks = (ids.hit | names.hit) & ~match_all | ids.hit & names.hit & match_all
    rules |= record["select_all"]
    rules[paths.depth == 1] |= record["select_layers"]
    rules &= ~(ids.excluded | names.excluded) & record["enabled_rules"]
    return rules


def _scan(
    tables: AutomatonTables, rows: Indices, columns: npt.NDArray[np.uint8], begin: Indices, end: Indices
) -> Indices:
    """Return the rows that columns[begin[i]:end[i]], the classes of some bytes, lead to from rows[i].

    This loop is most of what a decision costs. The longest come first, so that those still running are in front.
    Whatever can no longer change leads to itself and may run along; it is left behind where it is half of them.
    """
    results: Indices = rows.copy()
    running = np.flatnonzero((begin < end) & (rows >= tables.absorbing))
    length = end[running] - begin[running]
    longest = int(length.max(initial=0))
    shortness = (longest - length).astype(np.uint16 if longest < 2**16 else np.int64)  # numpy sorts 16 bits by radix
    order = np.argsort(shortness, kind="stable")
    running, shortness = running[order], shortness[order]
    row, position = rows[running], begin[running]
    for step in range(longest):
        count = int(np.searchsorted(shortness, longest - step))
        if step % _STEPS_BETWEEN_LOOKS == 0:
            goes_on = row[:count] >= tables.absorbing
            if 2 * np.count_nonzero(goes_on) < count:
                results[running] = row
                running, shortness = running[:count][goes_on], shortness[:count][goes_on]
                row, position = row[:count][goes_on], position[:count][goes_on]
                count = len(running)
        row[:count] = tables.transitions.take(row[:count] + columns.take(position[:count]))
        position[:count] += 1
    results[running] = row
    return results


def _emission_masks(tables: AutomatonTables) -> tuple[Masks, Masks, Masks]:
    """Return here, below and excluded of each emission, each of them close together."""
    here, below, excluded = (np.ascontiguousarray(tables.emissions[name]) for name in ("here", "below", "excluded"))
    return here, below, excluded


def _read_ids(tables: AutomatonTables, paths: OpPaths) -> _Registers:
    """Read the ids of each path, joined by `_`; a component without an id leads to the dead state, row 0."""
    registers = _Registers.zeros(len(paths.depth))
    if tables.class_count == 0:
        return registers
    rows = np.full(len(paths.depth), tables.start, dtype=np.int64)
    here, below, excluded = _emission_masks(tables)
    separator = tables.classes[_UNDERSCORE]
    columns = tables.classes[paths.text]
    level = 0
    alive = np.arange(len(rows))
    while len(alive) > 0:
        component = paths.first[alive] + level
        row = rows[alive]
        if level > 0:
            row = tables.transitions[row + separator].astype(np.int64)
        row = _scan(tables, row, columns, paths.begin[component], paths.id_end[component])
        row[paths.begin[component] == paths.id_end[component]] = 0
        rows[alive] = row
        emission = tables.states[row // tables.class_count]
        registers.here[alive] = here[emission]
        registers.below[alive] |= below[emission]
        registers.excluded[alive] |= excluded[emission]
        level += 1
        alive = alive[(row != 0) & (paths.depth[alive] > level)]
    # A path that died on the way has emitted nothing in the end.
    registers.here[rows == 0] = 0
    return registers


def _read_names(program: Program, paths: OpPaths) -> _Registers:
    tables = program.names
    registers = _Registers.zeros(len(paths.depth))
    if tables.class_count == 0:
        return registers
    start = np.full(len(paths.begin), tables.start, dtype=np.int64)
    rows = _scan(tables, start, tables.classes[paths.text], paths.name_begin, paths.end)
    emission_of = tables.states[rows // tables.class_count]
    here, below, excluded = _emission_masks(tables)
    registers.here |= here[emission_of[paths.last]]
    for masks, register in ((below, registers.below), (excluded, registers.excluded)):
        if masks.any():
            register |= np.bitwise_or.reduceat(masks[emission_of], paths.first)
    if len(program.path_words) > 0:
        positions = program.name_positions.reshape(-1, len(program.path_words))[emission_of]
        _advance_path_terms(program, paths, positions, registers)
    return registers


def _advance_path_terms(program: Program, paths: OpPaths, positions: Masks, registers: _Registers) -> None:
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
    program: Program, accepted: Masks, paths: Indices, is_last: npt.NDArray[np.bool_], registers: _Registers
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
