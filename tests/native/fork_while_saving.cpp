// A host that forks while its threads save and its queue is full of tensors.
//
//     fork_while_saving main|thread save|exit|exec|fork
//
// Each of kThreads threads saves kTensors tensors, one operation for each of them, in the round of its number. As soon
// as kTensorsBeforeFork are saved, the main thread, which has been saving too, or another one, forks. The child saves
// kTensors in round 0, ends at once, becomes another program, or forks again before it saves, its parent saving as
// well. stdout is one line for each process that saved: its pid and the number of its rounds.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "saving_steps.h"

namespace {

constexpr uint32_t kThreads = 4;
constexpr uint32_t kTensors = 300;
constexpr uint32_t kElements = 4096;
constexpr uint32_t kTensorsBeforeFork = 200;

std::atomic<uint32_t> g_saved{0};

void save_round(uint64_t round) {
    for (uint32_t number = 0; number < kTensors; ++number) {
        if (!save_input(round, number, kElements)) std::_Exit(2);
        g_saved.fetch_add(1);
    }
}

// With write(2): a forked child would print what stdio had kept once more.
void report(uint32_t rounds) {
    const std::string line = std::to_string(getpid()) + " " + std::to_string(rounds) + "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

bool ends_well(pid_t child) {
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void save_and_exit() {
    save_round(0);
    report(1);
    std::exit(0);
}

[[noreturn]] void be_child(const std::string& what) {
    if (what == "exit") std::_Exit(0);
    if (what == "exec") execl("/bin/true", "true", nullptr);
    if (what == "save") save_and_exit();
    if (what == "fork") {
        std::thread saver(save_round, 1);
        while (g_saved.load() == 0) std::this_thread::yield();
        const pid_t grandchild = fork();
        if (grandchild == 0) save_and_exit();
        saver.join();
        save_round(0);
        report(2);
        std::exit(ends_well(grandchild) ? 0 : 5);
    }
    std::_Exit(4);
}

void fork_child(const std::string& what) {
    while (g_saved.load() < kTensorsBeforeFork) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        g_saved.store(0);
        be_child(what);
    }
    if (!ends_well(child)) std::_Exit(6);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 1;
    const std::string what = arguments[2];
    const bool from_main = std::strcmp(arguments[1], "main") == 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (uint32_t round = from_main ? 1 : 0; round < kThreads; ++round) threads.emplace_back(save_round, round);
    if (from_main) {
        fork_child(what);
        save_round(0);
    } else {
        std::thread(fork_child, what).join();
    }
    for (std::thread& thread : threads) thread.join();
    report(kThreads);
    return 0;
}
