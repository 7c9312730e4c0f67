// The listing of one thread: how it hears of a request, and how the host's questions get to it.
//
// Without a request a thread compares its bell with what it has heard of it, once for each op that was executed and
// with each new round, and nothing else. With one, every question of the thread takes the slow way until its listing is
// over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops_listing.h"
#include "thread_record.h"

namespace atbprobe {

// Of the control words of a bell no request has, so a thread that has heard it goes on listening, or looks again.
inline constexpr uint64_t kListening = UINT64_MAX;

// The bell of a process without a slot, which cannot be asked.
extern const std::atomic<uint64_t> kSilentBell;

inline bool hears_bell(const ThreadRecord& thread) {
    return __builtin_expect(thread.bell->load(std::memory_order_relaxed) != thread.bell_heard, 0);
}

// The thread listens to another bell from now on. Null: to none.
void move_to_bell(ThreadRecord* thread, const std::atomic<uint64_t>* bell);

// An op was executed, and `hears_bell`: whether the host is to report its tensors.
__attribute__((cold)) bool list_executed(ThreadRecord* thread) noexcept;

// The host's questions, behind the rules' own answers, the first one where `hears_bell`, the others on a thread that
// has a listing. True: the host is to go on.
__attribute__((cold)) bool list_round(ThreadRecord* thread, uint64_t round) noexcept;
__attribute__((cold)) bool list_dir(ThreadRecord* thread, const char* dir, size_t length) noexcept;
__attribute__((cold)) bool list_pass(ThreadRecord* thread, Pass pass) noexcept;

void list_tensors(ThreadRecord* thread, const IoReport& report) noexcept;

// At the end of the thread.
void end_listing(ThreadRecord* thread) noexcept;

// In a forked child: the listing is the parent's. It may be half changed, if it is another thread's, and is left alone.
inline void forget_listing(ThreadRecord* thread) {
    thread->listing = nullptr;
    move_to_bell(thread, nullptr);
}

}  // namespace atbprobe
