// Programs of this process: reading one out of the channel, and keeping each for as long as a thread may use it.
#pragma once

#include <cstdint>

#include "channel.h"
#include "execution_counts.h"
#include "program_verifier.h"

namespace atbprobe {

// An image in private memory, verified and never changed, and what is counted under it.
struct Program {
    ProgramView view;
    void* image;
    ExecutionCounts* executions;  // null unless a rule has `next`
    Program* next_retired;
};

// Reads and verifies one generation of the channel in `folder`. A negative errno if it could not be read; otherwise 0,
// with the verdict, and the program if that is good.
int load_program(const char* folder, uint64_t generation, Program** program, Verdict* verdict);

void free_program(Program* program);

}  // namespace atbprobe
