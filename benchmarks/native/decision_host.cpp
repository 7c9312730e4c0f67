// Measures what a probe library costs a host per execution of an operation: the questions alone, nothing is saved.
//
//     decision_host MILLISECONDS flat|nested SELECTED_ROUND ROUND DIR...
//
// An execution is what the host does for one: UpdateConfig, and three times the chain of questions (before pass, after
// pass, parameters), each ended by the first no. The directories, which stand in the order in which their operations
// begin, take turns, so that no answer can be remembered from the last time. `nested` has the executions of the
// operations below between the before and the after pass, as the host has; `flat` asks all three times in a row.
//
// Before that the first directory is asked about in SELECTED_ROUND; whether it was selected is part of the answer, one
// line of JSON:
//
//     {"selected":true,"granted":0,"operations":123000,"nanoseconds":45.6}
//
// `granted` counts the chains that were answered with yes to their end; it must be 0 for operations that nobody wants.
// Time is that of this thread on the CPU: what else the machine does is not in it.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

constexpr uint64_t kRepeats = 60;  // of all directories, between two looks at the clock
constexpr uint64_t kWarmUps = 3;

struct Step {
    const std::string* dir;
    bool begins;  // otherwise it ends
};

uint64_t cpu_nanoseconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

bool dir_is_granted(uint64_t round, const std::string& dir) {
    return Probe::IsExecuteCountInRange(round) && Probe::IsSaveTensorInSpecificDir(dir);
}

uint64_t begin(uint64_t round, const std::string& dir) {
    Probe::UpdateConfig();
    return dir_is_granted(round, dir) && Probe::IsSaveTensorBefore() ? 1 : 0;
}

uint64_t end(uint64_t round, const std::string& dir) {
    uint64_t granted = 0;
    if (dir_is_granted(round, dir) && Probe::IsSaveTensorAfter()) ++granted;
    if (dir_is_granted(round, dir) && Probe::IsSaveParam()) ++granted;
    return granted;
}

bool is_below(const std::string& dir, const std::string& parent) {
    return dir.size() > parent.size() && dir.compare(0, parent.size(), parent) == 0 && dir[parent.size()] == '/';
}

// The beginnings and ends of all operations in the order in which a host has them.
std::vector<Step> steps_of(const std::vector<std::string>& dirs, bool nested) {
    std::vector<Step> steps;
    std::vector<const std::string*> open;
    const auto end_all_but_parents_of = [&](const std::string* dir) {
        for (; !open.empty() && !(nested && dir != nullptr && is_below(*dir, *open.back())); open.pop_back()) {
            steps.push_back({open.back(), false});
        }
    };
    for (const std::string& dir : dirs) {
        end_all_but_parents_of(&dir);
        steps.push_back({&dir, true});
        open.push_back(&dir);
    }
    end_all_but_parents_of(nullptr);
    return steps;
}

uint64_t execute(uint64_t round, const std::vector<Step>& steps) {
    uint64_t granted = 0;
    for (uint64_t i = 0; i < kRepeats; ++i) {
        for (const Step& step : steps) granted += step.begins ? begin(round, *step.dir) : end(round, *step.dir);
    }
    return granted;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kFirstDir = 5;
    if (argc <= kFirstDir) return 2;
    const uint64_t nanoseconds = std::strtoull(argv[1], nullptr, 10) * 1000000u;
    const bool nested = std::strcmp(argv[2], "nested") == 0;
    const uint64_t selected_round = std::strtoull(argv[3], nullptr, 10);
    const uint64_t round = std::strtoull(argv[4], nullptr, 10);
    const std::string head = "0_" + std::to_string(getpid()) + "/0/";
    std::vector<std::string> dirs;
    for (int i = kFirstDir; i < argc; ++i) dirs.push_back(head + argv[i]);

    Probe::IsTensorNeedSave({0}, "WordEmbedding");  // what a host asks first of all
    const bool selected = begin(selected_round, dirs.front()) + end(selected_round, dirs.front()) == 3;
    if (dirs.size() > 1) dirs.erase(dirs.begin());

    const std::vector<Step> steps = steps_of(dirs, nested);
    for (uint64_t i = 0; i < kWarmUps; ++i) execute(round, steps);
    uint64_t granted = 0;
    uint64_t operations = 0;
    const uint64_t start = cpu_nanoseconds();
    uint64_t elapsed = 0;
    for (; elapsed < nanoseconds; elapsed = cpu_nanoseconds() - start) {
        granted += execute(round, steps);
        operations += kRepeats * dirs.size();
    }
    std::printf("{\"selected\":%s,\"granted\":%" PRIu64 ",\"operations\":%" PRIu64 ",\"nanoseconds\":%.2f}\n",
                selected ? "true" : "false", granted, operations,
                static_cast<double>(elapsed) / static_cast<double>(operations));
    return 0;
}
