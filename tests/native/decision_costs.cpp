// A host that counts what a decision may not do: allocate, and take locks.
//
//     decision_costs ROUNDS DIR...
//
// Two threads, one after the other, ask the questions of one execution of each operation in turn, ROUNDS times; nothing
// is saved. stdout is a line for each thread: allocations and locks while it asked for the first time, both from then
// on, and how many before passes were granted. Around the part from then on each thread writes `begin` and `end` to
// descriptor 2, for whoever watches its system calls.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

struct Costs {
    unsigned long allocations;
    unsigned long locks;
};

thread_local Costs t_costs;

}  // namespace

extern "C" {
// The C library's own names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t bytes) {
    ++t_costs.allocations;
    return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
    ++t_costs.allocations;
    return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
    ++t_costs.allocations;
    return __libc_realloc(memory, bytes);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const original = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    ++t_costs.locks;
    return original(mutex);
}
}

namespace {

using atb::Probe;

bool dir_is_granted(uint64_t round, const std::string& dir) {
    return Probe::IsExecuteCountInRange(round) && Probe::IsSaveTensorInSpecificDir(dir);
}

unsigned long ask_all(uint64_t round, const std::vector<std::string>& dirs) {
    unsigned long granted = 0;
    for (const std::string& dir : dirs) {
        Probe::UpdateConfig();
        if (dir_is_granted(round, dir) && Probe::IsSaveTensorBefore()) ++granted;
        if (dir_is_granted(round, dir)) Probe::IsSaveTensorAfter();
        if (dir_is_granted(round, dir)) Probe::IsSaveParam();
        if (Probe::ReportKernelIOTensorEnable() || Probe::ReportOperationIOTensorEnable()) std::abort();
    }
    return granted;
}

void mark(const std::string& word) {
    if (write(STDERR_FILENO, word.data(), word.size()) < 0) std::abort();
}

void run(uint64_t rounds, const std::vector<std::string>& dirs) {
    const std::string begin = "begin\n";
    const std::string end = "end\n";
    const Costs before = t_costs;
    unsigned long granted = ask_all(0, dirs);
    const Costs first = t_costs;
    mark(begin);
    for (uint64_t round = 1; round < rounds; ++round) granted += ask_all(round, dirs);
    mark(end);
    const Costs last = t_costs;
    std::printf("%lu %lu %lu %lu %lu\n", first.allocations - before.allocations, first.locks - before.locks,
                last.allocations - first.allocations, last.locks - first.locks, granted);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: decision_costs ROUNDS DIR...\n", stderr);
        return 2;
    }
    const uint64_t rounds = std::strtoull(argv[1], nullptr, 10);
    const std::vector<std::string> dirs(argv + 2, argv + argc);
    for (int thread = 0; thread < 2; ++thread) std::thread([&] { run(rounds, dirs); }).join();
    return 0;
}
