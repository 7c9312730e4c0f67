// What one process tells about itself: counters that `status` and `wait` read, also after its death.
//
// They live in the process's slot of the channel (channel_format.h) once one is claimed and in private memory
// before that or without a channel, so that whoever counts never has to ask. All are relaxed atomics: they are
// read by other processes and only ever shown, never used to order anything.
#pragma once

#include <atomic>
#include <cstdint>

namespace atbprobe {

// Why something that was selected is not on disk. The order is part of the channel's format: append only.
enum class LossReason : uint32_t {
    kQueueStalled = 0,  // the queue made no progress for as long as a caller may be kept waiting
    kNoSpace = 1,       // the file system is full, or over quota
    kWriteFailed = 2,   // any other error of the operating system
    kOutOfMemory = 3,   // no memory for the copy
    kBadPath = 4,       // a path that the host must never give: absolute, empty, or without a file name
    kAtExit = 5,        // still queued when the process ended
    kBelowReserve = 6,  // it would have taken of the space that is to stay free
    kCount = 8,
};

inline constexpr const char* kLossReasonNames[] = {"queue_stalled", "no_space", "write_failed", "out_of_memory",
                                                   "bad_path",      "at_exit",  "below_reserve"};

inline constexpr uint32_t kMaxRules = 64;

struct ProcessCounters {
    std::atomic<uint64_t> ops_selected;
    std::atomic<uint64_t> tensors_saved;
    std::atomic<uint64_t> bytes_saved;
    std::atomic<uint64_t> bytes_queued;
    std::atomic<uint64_t> lost[static_cast<uint32_t>(LossReason::kCount)];
    std::atomic<uint64_t> hits[kMaxRules];
};

// The counters in use now: the slot's, or the private ones. Never null; a caller may keep the reference only for
// the length of one call, since claiming a slot moves the counters.
ProcessCounters& process_counters();

inline void add_relaxed(std::atomic<uint64_t>& counter, uint64_t amount) {
    counter.fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace atbprobe
