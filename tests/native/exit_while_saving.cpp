// A host whose threads save without end, and which calls exit() while they do.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "probe.h"

namespace {

using atb::Probe;

constexpr uint64_t kTensorsBeforeExit = 2000;
constexpr int kThreads = 4;

std::atomic<uint64_t> g_saved{0};

void save_without_end(int thread) {
    const std::string data(4096, 'x');
    for (uint64_t round = 0;; ++round) {
        const std::string dir = "0_1/" + std::to_string(round) + "/" + std::to_string(thread) + "_Layer";
        if (!Probe::IsExecuteCountInRange(round) || !Probe::IsSaveTensorInSpecificDir(dir) ||
            !Probe::IsSaveTensorBefore()) {
            std::_Exit(2);
        }
        Probe::SaveTensor("2", "0", "1024", data.data(), data.size(), dir + "/before/intensor0.bin");
        g_saved.fetch_add(1);
    }
}

}  // namespace

int main() {
    for (int thread = 0; thread < kThreads; ++thread) {
        std::thread(save_without_end, thread).detach();
    }
    while (g_saved.load() < kTensorsBeforeExit) {
        std::this_thread::yield();
    }
    std::exit(0);
}
