// The host of the swap benchmark: executes operations in a loop, and leaves the moment at which a decision first
// differs from the last one.
//
//     swap_host FILE PLACE PAUSE_MICROSECONDS
//
// FILE is mapped and shared with the benchmark and the other hosts: one 64-byte line with a flag and the word that
// ends all hosts, then one line a host, of which this one has number PLACE. A step is kOperations executions of the
// operation `0_Op`, and before each of them one look at the flag: so the flag is the least that any way of handing
// something to these processes can take. After a step the host pauses, as one does that waits for its device; with 0
// it goes on at once.
//
// Times are nanoseconds of CLOCK_MONOTONIC, taken after the decision or the look.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include "probe.h"

namespace {

using atb::Probe;

constexpr int kOperations = 20;
constexpr uint64_t kMostHosts = 63;

struct alignas(64) SharedWords {
    std::atomic<uint64_t> flag;
    std::atomic<uint64_t> ended;
};

// `flag` and `changes` are stored last: whoever sees a new one finds its time.
struct alignas(64) HostWords {
    std::atomic<uint64_t> steps;
    std::atomic<uint64_t> flag;  // the last one seen
    std::atomic<uint64_t> flag_seen_at;
    std::atomic<uint64_t> changes;  // decisions that differed from the one before
    std::atomic<uint64_t> changed_at;
    std::atomic<uint64_t> selected;  // the last decision
};

struct Shared {
    SharedWords words;
    HostWords hosts[kMostHosts];
};

uint64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

bool dir_is_granted(const std::string& dir) {
    return Probe::IsExecuteCountInRange(0) && Probe::IsSaveTensorInSpecificDir(dir);
}

// One execution, with nothing saved; tells whether its inputs were wanted.
bool execute(const std::string& dir) {
    Probe::UpdateConfig();
    const bool selected = dir_is_granted(dir) && Probe::IsSaveTensorBefore();
    if (dir_is_granted(dir)) Probe::IsSaveTensorAfter();
    if (dir_is_granted(dir)) Probe::IsSaveParam();
    return selected;
}

Shared* map_shared(const char* path) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Shared*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    Shared* shared = map_shared(argv[1]);
    const uint64_t place = std::strtoull(argv[2], nullptr, 10);
    const auto pause = static_cast<useconds_t>(std::strtoul(argv[3], nullptr, 10));
    if (shared == nullptr || place >= kMostHosts) return 2;
    HostWords& mine = shared->hosts[place];
    const std::string dir = "0_" + std::to_string(getpid()) + "/0/0_Op";

    Probe::IsTensorNeedSave({0}, "Op");  // what a host asks first of all
    bool last_selected = execute(dir);
    mine.selected.store(last_selected ? 1 : 0);
    uint64_t last_flag = 0;
    while (shared->words.ended.load(std::memory_order_relaxed) == 0) {
        for (int i = 0; i < kOperations; ++i) {
            const uint64_t flag = shared->words.flag.load(std::memory_order_acquire);
            if (flag != last_flag) {
                mine.flag_seen_at.store(now(), std::memory_order_relaxed);
                mine.flag.store(flag, std::memory_order_release);
                last_flag = flag;
            }
            const bool selected = execute(dir);
            if (selected != last_selected) {
                mine.changed_at.store(now(), std::memory_order_relaxed);
                mine.selected.store(selected ? 1 : 0, std::memory_order_relaxed);
                mine.changes.fetch_add(1, std::memory_order_release);
                last_selected = selected;
            }
        }
        mine.steps.fetch_add(1, std::memory_order_release);
        if (pause != 0) usleep(pause);  // what a host does while the device works
    }
    return 0;
}
