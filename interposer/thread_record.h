// The records of this process's threads: what each knows, and the list of them all.
#pragma once

#include <atomic>
#include <cstdint>

#include "channel_format.h"
#include "execution_chain.h"
#include "rounds_seen.h"
#include "rule_program.h"

namespace atbprobe {

class OpsListing;

// No generation is as large as the first two, so a thread that holds one of them always takes the slow way.
inline constexpr uint64_t kNotTaken = UINT64_MAX - 1;
inline constexpr uint64_t kNotStarted = UINT64_MAX - 2;
inline constexpr uint64_t kLargestGeneration = UINT64_MAX - 3;

// For a thread whose control word is not the process's any more.
extern const std::atomic<uint64_t> kReplacedWord;

// What belongs to one thread. Zero-initialised; handed on to a later thread when this one ends, never freed. What every
// question looks at comes first and shares a cache line.
struct alignas(64) ThreadRecord {
    // The control word when `program` was taken, and what it said. Others change the pointer when the process gets
    // another control word: to one that says nothing that a thread can have taken.
    std::atomic<const std::atomic<uint64_t>*> word;
    uint64_t generation;
    const Program* program;  // null while there is none
    ExecutionChain chain;
    CounterLane* lane;
    int64_t open_in_lane;  // what the thread has added to the lane's `ops_open`; 0 without a lane
    bool lane_is_shared;
    bool has_new_rules;                 // and has not been asked about a directory under them
    uint64_t lane_epoch;                // of the slot that the lane is in
    const std::atomic<uint64_t>* bell;  // of that slot; never null
    uint64_t bell_heard;                // what it said when there was no request left to answer
    OpsListing* listing;                // for the request that is being answered; null without one
    RoundsSeen rounds;                  // since `program` was taken
    bool in_use;
    ThreadRecord* next;
};

// The record of a thread that has none yet: never current, with no chain begun, and never written to.
extern ThreadRecord g_no_thread;

// __thread and not thread_local, which asks at each use whether there is something to initialise. Never null.
extern __attribute__((tls_model("initial-exec"))) __thread ThreadRecord* t_record;

// The record of the calling thread, which has none yet; `g_no_thread` without memory.
ThreadRecord* make_thread_record();

// The records of all threads, the next ones by `next`. Under the process lock.
ThreadRecord* all_thread_records();

}  // namespace atbprobe
