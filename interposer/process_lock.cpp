#include "process_lock.h"

#include <pthread.h>

#include <atomic>

namespace atbprobe {
namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> g_is_held_across_forks{false};
void (*g_in_child)() = nullptr;

// How often this thread is inside: once in a locked section, and once more for each fork that it is in.
__attribute__((tls_model("initial-exec"))) __thread int t_inside = 0;

void before_fork() {
    if (t_inside++ == 0) pthread_mutex_lock(&g_lock);
}

void after_fork_in_parent() {
    if (--t_inside == 0) pthread_mutex_unlock(&g_lock);
}

void after_fork_in_child() {
    if (g_in_child != nullptr) g_in_child();
    if (--t_inside == 0) pthread_mutex_init(&g_lock, nullptr);
}

// Before it is taken for the first time: a child that is forked while another thread has it would wait for that thread
// for ever. Two threads may both come here first; the handlers are then called twice, one within the other.
void hold_across_forks() {
    if (g_is_held_across_forks.load(std::memory_order_acquire)) return;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    g_is_held_across_forks.store(true, std::memory_order_release);
}

}  // namespace

ProcessLock::ProcessLock() : is_taken_(t_inside == 0) {
    if (!is_taken_) return;
    hold_across_forks();
    t_inside = 1;
    pthread_mutex_lock(&g_lock);
}

ProcessLock::~ProcessLock() {
    if (!is_taken_) return;
    pthread_mutex_unlock(&g_lock);
    t_inside = 0;
}

void call_in_forked_child(void (*in_child)()) { g_in_child = in_child; }

}  // namespace atbprobe
