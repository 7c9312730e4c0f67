// Counts executions on several threads at a time and checks what each was told.
//
//     execution_counts_driver THREADS OPERATIONS REPEATS   ->   {"operations":…,"executions":…,"wrong":…}
//
// Each thread counts every operation REPEATS times, each in an order of its own. Of one operation, the numbers of
// earlier executions that its threads were told must be 0, 1, 2 … without a gap; `wrong` counts those that are not.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "execution_counts.h"

namespace {

using atbprobe::ExecutionCounts;
using Told = std::vector<std::vector<uint64_t>>;  // of each operation

std::string dir_of(size_t operation, size_t count) {
    return "0_1/" + std::to_string(count) + "/" + std::to_string(operation) + "_Layer/0_Operation";
}

void count(ExecutionCounts* counts, size_t thread, size_t repeats, Told* told) {
    const size_t operations = told->size();
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        for (size_t i = 0; i < operations; ++i) {
            const size_t operation = thread % 2 == 0 ? i : operations - 1 - i;
            const std::string dir = dir_of(operation, thread * repeats + repeat);
            (*told)[operation].push_back(counts->add(dir.data(), dir.size()));
        }
    }
}

uint64_t wrong_numbers(const ExecutionCounts& counts, const std::vector<Told>& told, size_t operation) {
    std::vector<uint64_t> numbers;
    for (const Told& of_thread : told) {
        numbers.insert(numbers.end(), of_thread[operation].begin(), of_thread[operation].end());
    }
    std::sort(numbers.begin(), numbers.end());
    const std::string dir = dir_of(operation, 0);
    uint64_t wrong = counts.count_of(dir.data(), dir.size()) == numbers.size() ? 0 : 1;
    for (size_t i = 0; i < numbers.size(); ++i) wrong += numbers[i] == i ? 0 : 1;
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const size_t thread_count = std::strtoull(argv[1], nullptr, 10);
    const size_t operations = std::strtoull(argv[2], nullptr, 10);
    const size_t repeats = std::strtoull(argv[3], nullptr, 10);
    ExecutionCounts* counts = ExecutionCounts::create();
    if (counts == nullptr) return 1;
    std::vector<Told> told(thread_count, Told(operations));
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (size_t i = 0; i < thread_count; ++i) threads.emplace_back(count, counts, i, repeats, &told[i]);
    for (std::thread& thread : threads) thread.join();

    uint64_t wrong = 0;
    for (size_t operation = 0; operation < operations; ++operation) wrong += wrong_numbers(*counts, told, operation);
    counts->clear();
    for (size_t operation = 0; operation < operations; ++operation) {
        const std::string dir = dir_of(operation, 0);
        if (counts->count_of(dir.data(), dir.size()) != 0) ++wrong;
    }
    counts->destroy();
    std::printf("{\"operations\":%zu,\"executions\":%zu,\"wrong\":%llu}\n", operations,
                operations * repeats * thread_count, static_cast<unsigned long long>(wrong));
    return 0;
}
