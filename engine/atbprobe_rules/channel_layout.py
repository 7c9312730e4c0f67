"""The layout of a channel's control file, as interposer/channel_format.h has it; a test holds both sides together.

A control file is one CONTROL record, then from SLOTS_OFFSET on SLOT_COUNT SLOT records, one for each process.
"""

from __future__ import annotations

import numpy as np

from atbprobe_rules.selection import MAX_RULES

CHANNEL_MAGIC = b"ATBRCHAN"
CHANNEL_VERSION = 1
SLOT_COUNT = 128
LANE_COUNT = 16
SLOTS_OFFSET = 4096
SLOT_BYTES = 4096
CONTROL_BYTES = SLOTS_OFFSET + SLOT_COUNT * SLOT_BYTES
CLOSED = 2**64 - 1
BELL_PLACE = 0
"""In a slot's mailbox: how many requests to list ops there were."""
LOSS_REASONS = ("queue_stalled", "no_space", "write_failed", "out_of_memory", "bad_path", "at_exit", "below_reserve")
_LOSS_COUNTERS = 8

COUNTERS = np.dtype(
    [
        ("ops_selected", "<u8"),
        ("tensors_saved", "<u8"),
        ("bytes_saved", "<u8"),
        ("bytes_queued", "<u8"),
        ("lost", "<u8", _LOSS_COUNTERS),
        ("hits", "<u8", MAX_RULES),
    ]
)
LANE = np.dtype({"names": ["ops_seen", "ops_open"], "formats": ["<u8", "<i8"], "offsets": [0, 8], "itemsize": 64})
SLOT = np.dtype(
    {
        "names": [
            "owner",
            "generation",
            "generation_seen",
            "verdict",
            "device",
            "lanes_used",
            "counters",
            "mailbox",
            "text",
            "lanes",
        ],
        "formats": [
            "<u8",
            "<u8",
            "<u8",
            "<u4",
            "<i4",
            "<u4",
            COUNTERS,
            ("<u8", 8),
            "S192",
            (LANE, LANE_COUNT),
        ],
        "offsets": [0, 8, 16, 24, 28, 32, 64, 704, 768, 960],
        "itemsize": SLOT_BYTES,
    }
)
CONTROL = np.dtype(
    {
        "names": [
            "magic",
            "version",
            "slot_count",
            "slot_bytes",
            "header_bytes",
            "total_bytes",
            "generation",
            "watcher_start_time",
            "watcher_pid",
            "heartbeat",
            "published_at",
        ],
        "formats": ["S8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8", "<u4", "<u8", "<u8"],
        "offsets": [0, 8, 12, 16, 20, 24, 64, 128, 136, 144, 152],
        "itemsize": 192,
    }
)

BEGIN = CHANNEL_MAGIC + CHANNEL_VERSION.to_bytes(4, "little")
"""How every control file begins."""
