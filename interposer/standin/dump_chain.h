// The questions a host asks the probe around one run of an operation or kernel, and what it does on a yes.
// A no ends the chain at once; the later questions are then never asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context.h"
#include "operation.h"
#include "tensor.h"

namespace atbprobe::standin {

enum class Pass { kBefore, kAfter };

// One operation or kernel in one run.
struct DumpSite {
    uint64_t round = 0;   // how many times the operation has run before
    bool wanted = false;  // the cached answer of IsTensorNeedSave
    std::string dir;      // empty while the probe does not want directory strings
    const TensorList* inputs = nullptr;
    const TensorList* outputs = nullptr;
    const std::vector<std::string>* input_names = nullptr;  // null or empty: plain file names
    const std::vector<std::string>* output_names = nullptr;
};

// Operations ask for the round even if their cached answer was no, and for the directory before the pass;
// kernels ask for nothing if their cached answer was no, and for the pass before the directory.
void dump_operation(Context& context, const DumpSite& site, Pass pass);
void dump_kernel(Context& context, const DumpSite& site, Pass pass);

// Graphs and plug-ins ask as well, but have nothing to save.
void dump_param(const DumpSite& site, const Operation& operation);

// "before/intensor0_x.bin" and the like, below an operation's directory.
std::string tensor_file(Pass pass, bool is_input, size_t index, const std::vector<std::string>* names);

}  // namespace atbprobe::standin
