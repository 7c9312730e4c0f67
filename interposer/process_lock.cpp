#include "process_lock.h"

#include <pthread.h>

namespace atbprobe {
namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
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
    g_in_child();
    if (--t_inside == 0) pthread_mutex_init(&g_lock, nullptr);
}

}  // namespace

ProcessLock::ProcessLock() : is_taken_(t_inside == 0) {
    if (!is_taken_) return;
    t_inside = 1;
    pthread_mutex_lock(&g_lock);
}

ProcessLock::~ProcessLock() {
    if (!is_taken_) return;
    pthread_mutex_unlock(&g_lock);
    t_inside = 0;
}

void hold_lock_across_forks(void (*in_child)()) {
    g_in_child = in_child;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace atbprobe
