#include "thread_record.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "operation_counts.h"
#include "process_lock.h"
#include "thread_listing.h"

namespace atbprobe {
namespace {

pthread_key_t g_thread_end = 0;
bool g_has_thread_end = false;
ThreadRecord* g_threads = nullptr;

void release_thread_record(void* record) {
    auto* thread = static_cast<ThreadRecord*>(record);
    t_record = &g_no_thread;
    thread->chain.close_everything();
    count_open(thread);
    end_listing(thread);
    const ProcessLock lock;
    if (!lock.is_taken()) return;  // it stays in use for good, which costs a little memory
    thread->program = nullptr;
    thread->in_use = false;
}

}  // namespace

const std::atomic<uint64_t> kReplacedWord{kNotStarted};
ThreadRecord g_no_thread{{&kReplacedWord}, 0, nullptr, {}, nullptr, 0,      false, false, 0,
                         &kSilentBell,     0, nullptr, {}, false,   nullptr};
__thread ThreadRecord* t_record = &g_no_thread;

ThreadRecord* make_thread_record() {
    const ProcessLock lock;
    if (!lock.is_taken()) return &g_no_thread;
    if (!g_has_thread_end) g_has_thread_end = pthread_key_create(&g_thread_end, release_thread_record) == 0;
    ThreadRecord* thread = g_threads;
    while (thread != nullptr && thread->in_use) thread = thread->next;
    if (thread == nullptr) {
        void* memory = aligned_alloc(alignof(ThreadRecord), sizeof(ThreadRecord));
        if (memory == nullptr) return &g_no_thread;
        memset(memory, 0, sizeof(ThreadRecord));
        thread = static_cast<ThreadRecord*>(memory);
        thread->word.store(&kReplacedWord, std::memory_order_relaxed);
        thread->bell = &kSilentBell;
        thread->next = g_threads;
        g_threads = thread;
    }
    thread->in_use = true;
    thread->generation = kNotTaken;
    if (g_has_thread_end) pthread_setspecific(g_thread_end, thread);
    t_record = thread;
    return thread;
}

ThreadRecord* all_thread_records() { return g_threads; }

}  // namespace atbprobe
