// A host whose threads make their first probe call all at the same moment.
//
//     first_setup [fork]
//
// Each of kThreads threads asks what ATB asks when it sets up an operation, then runs that operation once and saves
// its input. With `fork`, another thread forks at that moment, and the child does the same from its only thread.
// stdout is one line for each process: its pid, and how many threads were told that nothing of theirs is needed.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "saving_steps.h"

namespace {

constexpr uint32_t kThreads = 8;
constexpr size_t kElements = 4;

// Opens when all have come. They spin, since to be woken one after the other would be far from the same moment.
class Barrier {
  public:
    explicit Barrier(uint32_t count) : missing_(count) {}
    void pass() {
        missing_.fetch_sub(1);
        while (missing_.load() > 0) std::this_thread::yield();
    }

  private:
    std::atomic<uint32_t> missing_;
};

std::atomic<uint32_t> g_refused{0};

void set_up_and_run(uint32_t number) {
    if (!atb::Probe::IsTensorNeedSave({number}, "Layer")) g_refused.fetch_add(1);
    atb::Probe::UpdateConfig();
    if (!save_input(0, number, kElements)) g_refused.fetch_add(1);
}

void report() {
    const std::string line = std::to_string(getpid()) + " " + std::to_string(g_refused.load()) + "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

void fork_and_wait() {
    const pid_t child = fork();
    if (child == 0) {
        g_refused.store(0);
        for (uint32_t number = 0; number < kThreads; ++number) set_up_and_run(number);
        report();
        std::exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::_Exit(4);
}

}  // namespace

int main(int count, char**) {
    const bool forks = count > 1;
    Barrier barrier(kThreads + (forks ? 1 : 0));
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (uint32_t number = 0; number < kThreads; ++number) {
        threads.emplace_back([&barrier, number] {
            barrier.pass();
            set_up_and_run(number);
        });
    }
    if (forks) {
        barrier.pass();
        fork_and_wait();
    }
    for (std::thread& thread : threads) thread.join();
    report();
    return 0;
}
