// A host whose threads all save into one round, as fast as they can: each SAVES inputs of four bytes of an operation of
// its own, so that statistic.csv gets THREADS times SAVES rows.
//
//     save_together THREADS SAVES
#include <pthread.h>
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

std::atomic<int> g_refused{0};

void save_all(int thread, int saves) {
    const std::string dir = "0_" + std::to_string(getpid()) + "/0/" + std::to_string(thread) + "_Operation";
    if (!Probe::IsExecuteCountInRange(0) || !Probe::IsSaveTensorInSpecificDir(dir) || !Probe::IsSaveTensorBefore()) {
        ++g_refused;
        return;
    }
    for (int32_t index = 0; index < saves; ++index) {
        Probe::SaveTensor("2", "3", "1", &index, sizeof index,
                          dir + "/before/intensor" + std::to_string(index) + ".bin");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: save_together THREADS SAVES\n", stderr);
        return 2;
    }
    const int count = static_cast<int>(std::strtol(argv[1], nullptr, 10));
    const int saves = static_cast<int>(std::strtol(argv[2], nullptr, 10));
    Probe::IsTensorNeedSave({0}, "Operation");
    Probe::UpdateConfig();
    pthread_barrier_t together;
    pthread_barrier_init(&together, nullptr, static_cast<unsigned>(count));
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int thread = 0; thread < count; ++thread) {
        threads.emplace_back([&together, thread, saves] {
            pthread_barrier_wait(&together);
            save_all(thread, saves);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return g_refused == 0 ? 0 : 3;
}
