#include "bin_header.h"

namespace atbprobe {
namespace {

constexpr std::string_view kEnd = "\n$End=1\n";

std::string header(const TensorCall& call, std::string_view count, std::string_view bytes) {
    std::string text = "$Version=1.0\n$Object.Count=";
    text += count;
    text += "\n$Object.Length=";
    text += bytes;
    text += "\nformat=";
    text += call.format;
    text += "\ndtype=";
    text += call.dtype;
    text += "\ndims=";
    text += call.dims;
    return text;
}

// The value of the line `name=value` in lines that begin with a line break each.
std::string_view line_value(std::string_view lines, std::string_view start) {
    const size_t line = lines.find(start);
    if (line == std::string_view::npos) return {};
    const size_t value = line + start.size();
    return lines.substr(value, lines.find('\n', value) - value);
}

}  // namespace

std::string bin_header(const TensorCall& call) {
    const std::string bytes = std::to_string(call.bytes);
    std::string text = header(call, "1", bytes);
    text += "\n$Object.data=0,";
    text += bytes;
    text += kEnd;
    return text;
}

std::string reference_header(const TensorCall& call, std::string_view reference) {
    std::string text = header(call, "0", "0");
    text += "\ndata=";
    text += reference;
    text += kEnd;
    return text;
}

BinHeader parse_bin_header(std::string_view text) {
    BinHeader header;
    const size_t end = text.find(kEnd);
    if (end == std::string_view::npos) return header;
    const std::string_view lines = text.substr(0, end);
    header.length = end + kEnd.size();
    header.format = line_value(lines, "\nformat=");
    header.dtype = line_value(lines, "\ndtype=");
    header.dims = line_value(lines, "\ndims=");
    header.reference = line_value(lines, "\ndata=");
    return header;
}

}  // namespace atbprobe
