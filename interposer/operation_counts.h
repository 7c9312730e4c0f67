// What a thread counts of the operations that the host executes: those it has seen, those whose dump has begun, and
// those that are open now.
#pragma once

#include <cstdint>

#include "probe_process.h"

namespace atbprobe {

// An operation that the host has executed.
void count_operation(ThreadRecord* thread);

// One whose dump has begun, by these rules.
void count_selected(uint64_t rules);

// Hits of `rules` alone: of one that counts already.
void count_hits(uint64_t rules);

__attribute__((noinline)) void store_open_operations(ThreadRecord* thread);

// Brings the thread's lane up to what is open on it. Whoever sees there that nothing is open can see all that was
// queued for those operations.
inline void count_open(ThreadRecord* thread) {
    const auto open = static_cast<int64_t>(thread->chain.operations_open());
    if (__builtin_expect(open != thread->open_in_lane, 0)) store_open_operations(thread);
}

// From now on the thread counts in `lane`, which may be null; what is open on it moves along.
void move_to_lane(ThreadRecord* thread, CounterLane* lane, bool is_shared);

}  // namespace atbprobe
