// A host whose threads execute operations as fast as they can while somebody else changes the rules: each a layer with
// an operation and its kernel, asked about as ATB does. A thread ends after some executions and another one takes its
// place.
//
//     swap_stress THREADS SAVE_EVERY
//
// Of every SAVE_EVERY-th execution the tensors are saved where that is granted; 0: of none. Each line on stdin is
// answered by one on stdout: how many executions of operations there were, how many of them were granted both passes,
// how many were granted outputs or parameters but no inputs, how many inputs but not all of the rest, and how many
// tensors were saved. At `stop`, before it is answered, and at the end of stdin the threads end.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

constexpr int kExecutionsOfThread = 500;

std::atomic<bool> g_is_over{false};
std::atomic<uint64_t> g_executions{0};
std::atomic<uint64_t> g_whole{0};
std::atomic<uint64_t> g_headless{0};
std::atomic<uint64_t> g_cut{0};
std::atomic<uint64_t> g_saves{0};

void save(const std::string& path, uint64_t round) {
    Probe::SaveTensor("2", "9", "1", &round, sizeof round, path);
    ++g_saves;
}

void count(bool before, bool after) {
    ++g_executions;
    if (before && after) ++g_whole;
    if (after && !before) ++g_headless;
    if (before && !after) ++g_cut;
}

bool runner_wants(uint64_t round, const std::string& dir, bool (*pass)()) {
    return Probe::IsExecuteCountInRange(round) && Probe::IsSaveTensorInSpecificDir(dir) && pass();
}

bool kernel_wants(uint64_t round, const std::string& dir, bool (*pass)()) {
    return Probe::IsExecuteCountInRange(round) && pass() && Probe::IsSaveTensorInSpecificDir(dir);
}

void execute_kernel(uint64_t round, const std::string& dir, bool saves) {
    const bool before = kernel_wants(round, dir, Probe::IsSaveTensorBefore);
    if (before && saves) save(dir + "/before/intensor0.bin", round);
    Probe::ReportKernelIOTensorEnable();
    const bool after = kernel_wants(round, dir, Probe::IsSaveTensorAfter);
    if (after && saves) save(dir + "/after/outtensor0.bin", round);
    count(before, after);
}

template <typename Children>
void execute_operation(uint64_t round, const std::string& dir, bool saves, const Children& children) {
    const bool before = runner_wants(round, dir, Probe::IsSaveTensorBefore);
    if (before && saves) save(dir + "/before/intensor0.bin", round);
    children();
    const bool after = runner_wants(round, dir, Probe::IsSaveTensorAfter);
    if (after && saves) save(dir + "/after/outtensor0.bin", round);
    count(before, after);
    const bool param = runner_wants(round, dir, Probe::IsSaveParam);
    if (param && !before) ++g_headless;
    if (before && !param) ++g_cut;
    Probe::ReportOperationIOTensorEnable();
}

void execute_layer(const std::string& layer, uint64_t round, bool saves) {
    const std::string operation = layer + "/0_LinearOperation";
    execute_operation(round, layer, saves, [&] {
        execute_operation(round, operation, saves,
                          [&] { execute_kernel(round, operation + "/0_MatMulKernel", saves); });
    });
}

// One thread after the other, all with the same layer.
void run_threads(int number, uint64_t save_every) {
    const std::string layer = "0_" + std::to_string(getpid()) + "/0/" + std::to_string(number) + "_Layer";
    for (uint64_t round = 0; !g_is_over;) {
        std::thread([&] {
            Probe::IsTensorNeedSave({number}, "Layer");
            Probe::UpdateConfig();
            for (int i = 0; i < kExecutionsOfThread && !g_is_over; ++i, ++round) {
                execute_layer(layer, round, save_every != 0 && round % save_every == 0);
            }
        }).join();
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: swap_stress THREADS SAVE_EVERY\n", stderr);
        return 2;
    }
    const uint64_t save_every = std::strtoull(argv[2], nullptr, 10);
    const auto count = static_cast<int>(std::strtol(argv[1], nullptr, 10));
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int number = 0; number < count; ++number) {
        threads.emplace_back([=] { run_threads(number, save_every); });
    }
    char* line = nullptr;
    size_t capacity = 0;
    const auto stop = [&threads] {
        g_is_over = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
        threads.clear();
    };
    while (getline(&line, &capacity, stdin) > 0) {
        if (std::strcmp(line, "stop\n") == 0) {
            stop();
        }
        std::printf("%llu %llu %llu %llu %llu\n", static_cast<unsigned long long>(g_executions),
                    static_cast<unsigned long long>(g_whole), static_cast<unsigned long long>(g_headless),
                    static_cast<unsigned long long>(g_cut), static_cast<unsigned long long>(g_saves));
        std::fflush(stdout);
    }
    std::free(line);
    stop();
    return 0;
}
