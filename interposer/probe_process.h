// This process and its threads: which program is in force, and how a thread takes a new one.
//
// Before every operation a thread compares the control word of the channel with its own copy: two loads and one
// compare. Only when they differ does it take the slow way, under a lock: attach to the channel if that was not done,
// read the image, verify it, put it in force, and free old programs that no thread names any more. Nothing happens in
// a process before the first probe call, and nothing here is ever destroyed.
#pragma once

#include <atomic>
#include <cstdint>

#include "thread_record.h"

namespace atbprobe {

// The word to watch: the channel's, or a constant before the first probe call and where there is no channel.
extern std::atomic<const std::atomic<uint64_t>*> g_control_word;
extern const std::atomic<uint64_t> kNotStartedWord;

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

// Whether anything can ever be dumped here: a config path is set, or the image of ATBPROBE_IMAGE was taken.
bool process_is_probed();

// Whether the rules in force dump anything.
bool process_is_dumping();

// The folder of the channel that this process is attached to; empty without one. Under the process lock.
const char* channel_folder_in_use();

}  // namespace atbprobe
