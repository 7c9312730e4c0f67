// A host that counts what is allocated while it asks about operations.
//
//     allocations ROUNDS DIR...
//
// Two threads, one after the other, ask the questions of one execution of each operation in turn, ROUNDS times; nothing
// is saved. stdout is a line for each thread: allocations while it asked for the first time, allocations from then on,
// and how many before passes were granted.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

extern "C" {
// The C library's own names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

thread_local unsigned long t_allocations;

void* malloc(size_t bytes) {
    ++t_allocations;
    return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
    ++t_allocations;
    return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
    ++t_allocations;
    return __libc_realloc(memory, bytes);
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
        Probe::ReportOperationIOTensorEnable();
    }
    return granted;
}

void run(uint64_t rounds, const std::vector<std::string>& dirs) {
    const unsigned long before = t_allocations;
    unsigned long granted = ask_all(0, dirs);
    const unsigned long first = t_allocations;
    for (uint64_t round = 1; round < rounds; ++round) granted += ask_all(round, dirs);
    const unsigned long last = t_allocations;
    std::printf("%lu %lu %lu\n", first - before, last - first, granted);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: allocations ROUNDS DIR...\n", stderr);
        return 2;
    }
    const uint64_t rounds = std::strtoull(argv[1], nullptr, 10);
    const std::vector<std::string> dirs(argv + 2, argv + argc);
    for (int thread = 0; thread < 2; ++thread) std::thread([&] { run(rounds, dirs); }).join();
    return 0;
}
