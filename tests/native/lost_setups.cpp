// Processes whose threads start their first operation together: how many of those operations are lost?
//
//     lost_setups PROCESSES THREADS   ->   a line for each process: how many threads were told by IsTensorNeedSave
//     that
//                                           their operation is not to be saved, which ATB keeps for good; how many of
//                                           the others were refused round, dir or pass; and `died` if it did
//
// The processes are forked before any probe function was called, so to the library each is a fresh one. These lines
// are the last ones on stdout: the library may print there too.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

// In memory that parent and child share.
struct Lost {
    std::atomic<int> at_setup;
    std::atomic<int> at_execute;
};

Lost* make_shared() {
    void* memory = mmap(nullptr, sizeof(Lost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Lost*>(memory);
}

void run_operation(int thread, Lost* lost) {
    const bool wanted = Probe::IsTensorNeedSave({thread}, "Operation");
    Probe::UpdateConfig();
    const std::string dir = "0_" + std::to_string(getpid()) + "/0/" + std::to_string(thread) + "_Operation";
    if (!wanted) {
        ++lost->at_setup;
    } else if (!Probe::IsExecuteCountInRange(0) || !Probe::IsSaveTensorInSpecificDir(dir) ||
               !Probe::IsSaveTensorBefore()) {
        ++lost->at_execute;
    }
}

void run_threads(int count, Lost* lost) {
    std::atomic<int> waiting{count};
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int thread = 0; thread < count; ++thread) {
        threads.emplace_back([&waiting, thread, lost] {
            --waiting;
            while (waiting > 0) {
                std::this_thread::yield();
            }
            run_operation(thread, lost);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace

int main(int argc, char** argv) {
    Lost* lost = make_shared();
    if (argc != 3 || lost == nullptr) {
        std::fputs("usage: lost_setups PROCESSES THREADS\n", stderr);
        return 2;
    }
    const auto processes = std::strtol(argv[1], nullptr, 10);
    const auto threads = static_cast<int>(std::strtol(argv[2], nullptr, 10));
    std::vector<std::string> lines;
    for (long process = 0; process < processes; ++process) {
        lost->at_setup = 0;
        lost->at_execute = 0;
        const pid_t child = fork();
        if (child == 0) {
            run_threads(threads, lost);
            std::_Exit(0);
        }
        int status = 0;
        const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
        lines.push_back(std::to_string(lost->at_setup) + " " + std::to_string(lost->at_execute) +
                        (ended ? "" : " died"));
    }
    for (const std::string& line : lines) {
        std::puts(line.c_str());
    }
    return 0;
}
