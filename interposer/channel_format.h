// The channel: what watcher and processes share in memory. Wire structs only; no behaviour.
//
// A channel is a folder with one `control` file, mapped by everybody, and immutable images, one file a generation.
// The watcher writes an image under the name `image-<generation>` and then stores that number in the control word;
// a process that finds another number there than it had reads the image of that name. Each process claims a slot,
// in which it alone writes. The layout stands here and in engine/atbprobe_rules/channel.py; `atbprobe_layout()` prints
// this side and a test holds both together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "process_counters.h"

namespace atbprobe {

inline constexpr char kChannelMagic[8] = {'A', 'T', 'B', 'R', 'C', 'H', 'A', 'N'};
inline constexpr uint32_t kChannelVersion = 1;
inline constexpr uint32_t kSlotCount = 128;
inline constexpr uint32_t kLaneCount = 16;
inline constexpr uint32_t kSlotTextBytes = 192;

// In place of a generation: this channel is no longer anybody's, attach anew.
inline constexpr uint64_t kChannelClosed = UINT64_MAX;

struct alignas(64) ControlHeader {
    char magic[8];
    uint32_t version;
    uint32_t slot_count;
    uint32_t slot_bytes;
    uint32_t header_bytes;
    uint64_t total_bytes;
    // A cache line of its own: every process reads it before every operation.
    alignas(64) std::atomic<uint64_t> generation;
    alignas(64) std::atomic<uint64_t> watcher_start_time;  // field 22 of /proc/<pid>/stat
    std::atomic<uint32_t> watcher_pid;                     // 0: there is none
    uint32_t reserved;
    std::atomic<uint64_t> heartbeat;     // CLOCK_MONOTONIC, nanoseconds
    std::atomic<uint64_t> published_at;  // CLOCK_REALTIME, nanoseconds: when the generation was published
};

// In place of a start time: the slot is being filled in.
inline constexpr uint32_t kOwnerClaiming = 0;

// Counts of one thread, or of several where a process has more threads than lanes.
struct alignas(64) CounterLane {
    std::atomic<uint64_t> ops_seen;
    std::atomic<int64_t> ops_open;  // begun and not ended; of all lanes of a process the sum is what counts
};

struct alignas(4096) ProcessSlot {
    // Who holds the slot: the pid in the upper half, the lower half of its start time (field 22 of /proc/<pid>/stat)
    // in the lower one. Together they name one process for good, so that a slot whose process is gone can be told and
    // taken over. 0: nobody, ever.
    std::atomic<uint64_t> owner;
    std::atomic<uint64_t> generation;       // the one in force here
    std::atomic<uint64_t> generation_seen;  // the last one looked at, taken or refused
    std::atomic<uint32_t> verdict;          // of the last one looked at
    std::atomic<int32_t> device;            // the last one seen, -1 if none
    std::atomic<uint32_t> lanes_used;
    uint32_t reserved;
    alignas(64) ProcessCounters counters;
    alignas(64) std::atomic<uint64_t> mailbox[8];  // requests to the process; see listing_format.h
    char text[kSlotTextBytes];                     // the process's program, for people
    CounterLane lanes[kLaneCount];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(sizeof(ControlHeader) == 192);
static_assert(sizeof(ProcessSlot) == 4096);

inline constexpr size_t kSlotsOffset = 4096;  // slots begin on a page of their own
inline constexpr size_t kControlBytes = kSlotsOffset + size_t{kSlotCount} * sizeof(ProcessSlot);

}  // namespace atbprobe
