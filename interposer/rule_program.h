// Programs of this process: reading one out of the channel, and keeping each for as long as a thread may use it.
#pragma once

#include <atomic>
#include <cstdint>

#include "channel.h"
#include "execution_counts.h"
#include "program_verifier.h"
#include "rule_budgets.h"

namespace atbprobe {

// An image in private memory, verified and never changed, and what is counted under it.
struct Program {
    ProgramView view;
    void* image;
    ExecutionCounts* executions;  // null unless a rule has `next`
    RuleBudgets* budgets;         // null unless there is anything to count, or a rule has a condition
    Program* next_retired;
    // That were begun under it and are still to be decided by it, on all threads.
    mutable std::atomic<uint64_t> operations_open;
    // What was said about these rules is not said again.
    mutable std::atomic<uint64_t> told_rules;  // as being for other devices
    mutable std::atomic<bool> has_told_devices;
    mutable std::atomic<bool> has_told_idle;
};

// Reads and verifies one generation of the channel in `folder`. A negative errno if it could not be read; otherwise 0,
// with the verdict, and the program if that is good.
int load_program(const char* folder, uint64_t generation, Program** program, Verdict* verdict);

// The same of the image in `copy`, which this takes over, whatever its generation.
int make_program(const ImageCopy& copy, Program** program, Verdict* verdict);

void free_program(Program* program);

}  // namespace atbprobe
