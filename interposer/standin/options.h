// The command line of the stand-in model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fault.h"
#include "tensor.h"
#include "transformer_operations.h"

namespace atbprobe::standin {

struct ModelOptions {
    int64_t layers = 2;
    int64_t hidden = 64;
    int64_t feed_forward = 128;
    int64_t heads = 4;
    int64_t vocabulary = 256;
    int64_t prompt_tokens = 8;
    int64_t request_length = 32;  // steps until the next prompt; also bounds the cache
    uint64_t seed = 1;
    DataType dtype = DataType::kFloat16;
    DataType logits = DataType::kFloat;
    DataType token_ids = DataType::kInt64;
    std::optional<int64_t> bfloat16_layer;
    bool always_prefill = false;
    OperationStyle style;
    int64_t setups_per_execute = 1;
    int64_t executes_per_setup = 1;
    bool execute_on_other_thread = false;
};

struct Options {
    ModelOptions model;
    std::vector<int32_t> devices{0};
    int64_t threads = 1;
    int64_t steps_in_turn = 0;
    uint64_t steps = 8;
    bool forever = false;
    bool control = false;
    bool quiet = false;
    int64_t interval_ms = 0;
    std::optional<Fault> fault;
    std::string expect_dir;
    std::string report_file;
};

enum class ParseOutcome { kRun, kHelpShown, kUsageError };

// Prints the help to stdout, or what is wrong to stderr.
ParseOutcome parse_options(int argc, char** argv, Options& options);

}  // namespace atbprobe::standin
