#include "tensor_path.h"

#include <algorithm>

namespace atbprobe {
namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

constexpr std::string_view kInputFile = "intensor";
constexpr std::string_view kOutputFile = "outtensor";
constexpr std::string_view kSuffix = ".bin";
constexpr std::string_view kDigits = "0123456789";

// Digits of the id of `<id>_<name>`; 0 if there is none.
size_t id_length(std::string_view component) {
    const size_t digits = std::min(component.find_first_not_of(kDigits), component.size());
    return digits < component.size() && component[digits] == '_' ? digits : 0;
}

// The part of `whole` from its beginning to the end of `component`, which is a view into it.
std::string_view up_to(std::string_view whole, std::string_view component) {
    return whole.substr(0, static_cast<size_t>(component.data() + component.size() - whole.data()));
}

PathKind kind_of(std::string_view side, std::string_view file) {
    if (side == "before" && starts_with(file, kInputFile)) return PathKind::kInput;
    if (side == "after" && starts_with(file, kOutputFile)) return PathKind::kOutput;
    return PathKind::kIgnored;
}

// Sets all but `kind` and `operations`; false if the path is absolute or lacks one of the parts.
bool parse_ends(std::string_view path, TensorPath* parsed) {
    const size_t slash = path.rfind('/');
    if (path.empty() || path.front() == '/' || slash == std::string_view::npos) return false;
    parsed->file = path.substr(slash + 1);
    parsed->folder = path.substr(0, slash);
    std::string_view rest = parsed->folder;
    parsed->process = next_component(&rest);
    parsed->count = next_component(&rest);
    if (parsed->file.empty() || parsed->count.empty()) return false;
    parsed->round = up_to(path, parsed->count);
    parsed->operations = rest;
    return true;
}

}  // namespace

std::string_view next_component(std::string_view* rest) {
    while (!rest->empty() && rest->front() == '/') rest->remove_prefix(1);
    const std::string_view component = rest->substr(0, rest->find('/'));
    rest->remove_prefix(component.size());
    return component;
}

TensorPath parse_tensor_path(std::string_view path) {
    TensorPath parsed;
    if (!parse_ends(path, &parsed)) return parsed;
    const size_t slash = parsed.operations.rfind('/');
    if (slash == std::string_view::npos) return parsed;
    const std::string_view side = parsed.operations.substr(slash + 1);
    parsed.operations = parsed.operations.substr(0, slash);
    std::string_view rest = parsed.operations;
    if (next_component(&rest).empty()) return parsed;
    parsed.kind = kind_of(side, parsed.file);
    return parsed;
}

TensorPath parse_param_path(std::string_view path) {
    TensorPath parsed;
    if (!parse_ends(path, &parsed)) return parsed;
    std::string_view rest = parsed.operations;
    if (!next_component(&rest).empty()) parsed.kind = PathKind::kIgnored;
    return parsed;
}

std::string_view tensor_index(const TensorPath& path) {
    const std::string_view start = path.kind == PathKind::kInput ? kInputFile : kOutputFile;
    std::string_view index = path.file.substr(start.size());
    if (index.size() >= kSuffix.size() && index.substr(index.size() - kSuffix.size()) == kSuffix) {
        index.remove_suffix(kSuffix.size());
    }
    return index;
}

bool is_plain_file(const TensorPath& path) {
    const std::string_view index = tensor_index(path);
    const size_t digits = std::min(index.find_first_not_of(kDigits), index.size());
    return digits > 0 && digits == index.size() && path.file.substr(path.file.size() - kSuffix.size()) == kSuffix;
}

bool is_kernel(std::string_view operations) {
    return operations.substr(operations.rfind('/') + 1).find("Kernel") != std::string_view::npos;
}

OperationNames operation_names(std::string_view operations) {
    OperationNames result;
    std::string_view rest = operations;
    for (std::string_view part = next_component(&rest); !part.empty(); part = next_component(&rest)) {
        const size_t digits = id_length(part);
        if (digits > 0) {
            if (!result.ids.empty()) result.ids += '_';
            result.ids += part.substr(0, digits);
            part.remove_prefix(digits + 1);
        }
        if (!result.names.empty()) result.names += '/';
        result.names += part;
        result.type = part;
    }
    return result;
}

bool has_id_path(std::string_view operations) {
    for (std::string_view part = next_component(&operations); !part.empty(); part = next_component(&operations)) {
        if (id_length(part) == 0) return false;
    }
    return true;
}

}  // namespace atbprobe
