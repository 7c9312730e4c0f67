// Measures what a probe library costs a host per execution of an operation: the questions alone, nothing is saved.
//
//     decision_host MILLISECONDS SELECTED_ROUND ROUND DIR...
//
// An execution is what the host does for one: UpdateConfig, and three times the chain of questions (before pass, after
// pass, parameters), each ended by the first no. The directories take turns, so that no answer can be remembered from
// the last time. Before that the first directory is asked about in SELECTED_ROUND; whether it was selected is part of
// the answer, one line of JSON:
//
//     {"selected":true,"granted":0,"operations":123000,"nanoseconds":45.6}
//
// `granted` counts the chains that were answered with yes to their end; it must be 0 for operations that nobody wants.
// Time is that of this thread on the CPU: what else the machine does is not in it.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

constexpr uint64_t kBatch = 600;  // executions between two looks at the clock
constexpr uint64_t kWarmUps = 3;

uint64_t cpu_nanoseconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

bool dir_is_granted(uint64_t round, const std::string& dir) {
    return Probe::IsExecuteCountInRange(round) && Probe::IsSaveTensorInSpecificDir(dir);
}

uint64_t execute(uint64_t round, const std::string& dir) {
    Probe::UpdateConfig();
    uint64_t granted = 0;
    if (dir_is_granted(round, dir) && Probe::IsSaveTensorBefore()) ++granted;
    if (dir_is_granted(round, dir) && Probe::IsSaveTensorAfter()) ++granted;
    if (dir_is_granted(round, dir) && Probe::IsSaveParam()) ++granted;
    return granted;
}

uint64_t execute_batch(uint64_t round, const std::vector<std::string>& dirs) {
    uint64_t granted = 0;
    for (uint64_t i = 0; i < kBatch; ++i) granted += execute(round, dirs[i % dirs.size()]);
    return granted;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kFirstDir = 4;
    if (argc <= kFirstDir) return 2;
    const uint64_t nanoseconds = std::strtoull(argv[1], nullptr, 10) * 1000000u;
    const uint64_t selected_round = std::strtoull(argv[2], nullptr, 10);
    const uint64_t round = std::strtoull(argv[3], nullptr, 10);
    const std::string head = "0_" + std::to_string(getpid()) + "/0/";
    std::vector<std::string> dirs;
    for (int i = kFirstDir; i < argc; ++i) dirs.push_back(head + argv[i]);

    Probe::IsTensorNeedSave({0}, "WordEmbedding");  // what a host asks first of all
    const bool selected = execute(selected_round, dirs.front()) == 3;
    if (dirs.size() > 1) dirs.erase(dirs.begin());

    for (uint64_t i = 0; i < kWarmUps; ++i) execute_batch(round, dirs);
    uint64_t granted = 0;
    uint64_t operations = 0;
    const uint64_t start = cpu_nanoseconds();
    uint64_t elapsed = 0;
    for (; elapsed < nanoseconds; elapsed = cpu_nanoseconds() - start) {
        granted += execute_batch(round, dirs);
        operations += kBatch;
    }
    std::printf("{\"selected\":%s,\"granted\":%" PRIu64 ",\"operations\":%" PRIu64 ",\"nanoseconds\":%.2f}\n",
                selected ? "true" : "false", granted, operations,
                static_cast<double>(elapsed) / static_cast<double>(operations));
    return 0;
}
