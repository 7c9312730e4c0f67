// The address that the host gives to a tensor, taken apart:
//
//     <device>_<pid>/<setup count>/<id>_<name>[/<id>_<name>…]/before|after/<file>
//
// All views point into the text that was parsed. Only the last two components say what a tensor is: an operation may
// be called `intensor`.
#pragma once

#include <string>
#include <string_view>

namespace atbprobe {

enum class PathKind {
    kBad,      // absolute, too short or without a file name: the host never gives such a path
    kIgnored,  // an output before the operation (stale memory) or an input after it (may be overwritten)
    kInput,
    kOutput,
};

struct TensorPath {
    PathKind kind = PathKind::kBad;
    std::string_view process;     // <device>_<pid>
    std::string_view count;       // <setup count>
    std::string_view round;       // <device>_<pid>/<setup count>
    std::string_view operations;  // <id>_<name>[/<id>_<name>…]
    std::string_view folder;      // everything before the file
    std::string_view file;
};

TensorPath parse_tensor_path(std::string_view path);

// `op_param.json` lies in the operation's folder itself; of the result `folder` and `file` are set, and `kind` is kBad
// or not.
TensorPath parse_param_path(std::string_view path);

// Splits off the first non-empty component of `rest`; empty at the end.
std::string_view next_component(std::string_view* rest);

// What follows `intensor` or `outtensor`, up to `.bin`: `0`, `2_value`.
std::string_view tensor_index(const TensorPath& path);

// Whether the file's name is `intensor` or `outtensor`, a number and `.bin`: without a parameter's name.
bool is_plain_file(const TensorPath& path);

// Whether the operation's own name contains `Kernel`.
bool is_kernel(std::string_view operations);

// `Prefill_layer/Attention`, `Attention` and `2_1` of `2_Prefill_layer/1_Attention`. A component without an id is the
// rest of a name that holds a slash.
struct OperationNames {
    std::string names;
    std::string type;
    std::string ids;
};
OperationNames operation_names(std::string_view operations);

// Whether every component has an id, so that the id path names the operation.
bool has_id_path(std::string_view operations);

}  // namespace atbprobe
