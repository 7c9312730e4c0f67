"""One attached process, as its slot in the channel tells of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from atbprobe_rules import native
from atbprobe_rules.channel_layout import LOSS_REASONS
from atbprobe_rules.processes import start_time_of


@dataclass(frozen=True)
class Process:
    """One attached process, from its slot. `generation` is the one in force there, 0 before the first.

    `generation_seen` is the last one that it looked at; `verdict` says what it made of that one ("ok": taken).
    `threads` is how many of its threads have executed ops, as far as they have lanes of their own.
    `ops_open` are ops that have begun under its rules and whose end was not seen yet. `lost` counts by reason what was
    selected and is not on disk; `hits` counts the selected ops of each rule of the published generation.
    """

    pid: int
    program: str
    device: int
    alive: bool
    generation: int
    generation_seen: int
    verdict: str
    threads: int
    ops_seen: int
    ops_open: int
    ops_selected: int
    tensors_saved: int
    bytes_saved: int
    bytes_queued: int
    lost: dict[str, int]
    hits: tuple[int, ...]


def process_of(slot: Any, lanes: Any, rule_count: int) -> Process:
    """Read a slot that was copied; `lanes` were copied before it, so that an op which ends meanwhile is not missed."""
    owner = int(slot["owner"])
    pid, start_time = owner >> 32, owner & 0xFFFFFFFF
    counters = slot["counters"]
    # A slot whose start time is still missing is being filled in: its numbers are the former holder's.
    filled = start_time != 0
    running = start_time_of(pid) & 0xFFFFFFFF
    return Process(
        pid=pid,
        program=os.fsdecode(bytes(slot["text"])),
        device=int(slot["device"]),
        alive=running == start_time if filled else running != 0,
        generation=int(slot["generation"]) if filled else 0,
        generation_seen=int(slot["generation_seen"]) if filled else 0,
        verdict=native.verdict_name(int(slot["verdict"])),
        threads=int(np.count_nonzero(lanes["ops_seen"])),
        ops_seen=int(lanes["ops_seen"].sum()),
        ops_open=int(lanes["ops_open"].sum()),
        ops_selected=int(counters["ops_selected"]),
        tensors_saved=int(counters["tensors_saved"]),
        bytes_saved=int(counters["bytes_saved"]),
        bytes_queued=int(counters["bytes_queued"]),
        lost={name: int(count) for name, count in zip(LOSS_REASONS, counters["lost"], strict=False) if count},
        hits=tuple(int(count) for count in counters["hits"][:rule_count]),
    )
