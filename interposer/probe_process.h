// This process and its threads: which program is in force, and how a thread takes a new one.
//
// Before every operation a thread compares the control word of the channel with its own copy: two loads and one
// compare. Only when they differ does it take the slow way, under a lock: attach to the channel if that was not done,
// read the image, verify it, put it in force, and free old programs that no thread names any more. Nothing happens in
// a process before the first probe call, and nothing here is ever destroyed.
#pragma once

#include <atomic>
#include <cstdint>

#include "channel_format.h"
#include "execution_chain.h"
#include "rule_program.h"

namespace atbprobe {

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
    uint64_t lane_epoch;  // of the slot that the lane is in
    bool lane_is_shared;
    bool in_use;
    ThreadRecord* next;
};

// The word to watch: the channel's, or a constant before the first probe call and where there is no channel.
extern std::atomic<const std::atomic<uint64_t>*> g_control_word;
extern const std::atomic<uint64_t> kNotStartedWord;

// The record of a thread that has none yet: never current, with no chain begun, and never written to.
extern ThreadRecord g_no_thread;

// __thread and not thread_local, which asks at each use whether there is something to initialise. Never null.
extern __attribute__((tls_model("initial-exec"))) __thread ThreadRecord* t_record;

inline uint64_t control_word_of(const ThreadRecord& thread) {
    return thread.word.load(std::memory_order_relaxed)->load(std::memory_order_acquire);
}

inline bool is_current(const ThreadRecord& thread) {
    return __builtin_expect(control_word_of(thread) == thread.generation, 1);
}

// The slow way: the calling thread's record, made if there is none, with the current program. Without memory it is
// `g_no_thread`.
__attribute__((cold)) ThreadRecord* take_current_program();

// The first probe call of a process: reads the environment, attaches to the channel and takes the rules in force.
inline void start_process_once() {
    if (__builtin_expect(g_control_word.load(std::memory_order_acquire) == &kNotStartedWord, 0)) take_current_program();
}

// Whether a config path is set, that is, whether anything can ever be dumped here.
bool process_is_probed();

// Whether the rules in force dump anything.
bool process_is_dumping();

// Counts an operation that the host has executed, and one whose dump has begun.
void count_operation(ThreadRecord* thread);
void count_selected(uint64_t rules);

}  // namespace atbprobe
