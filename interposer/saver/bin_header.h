// The text in front of the data in a .bin: lines `name=value`, ended by `$End=1`. A reference has no data, and the line
// `data=<id path>_<file name>` names the file of the same round that holds it.
#pragma once

#include <string>
#include <string_view>

#include "saver.h"

namespace atbprobe {

std::string bin_header(const TensorCall& call);
std::string reference_header(const TensorCall& call, std::string_view reference);

// What was read from the start of a .bin: views into the text.
struct BinHeader {
    size_t length = 0;  // of the header; 0 if this is none
    std::string_view format;
    std::string_view dtype;
    std::string_view dims;
    std::string_view reference;  // empty in a file with data
};
BinHeader parse_bin_header(std::string_view text);

}  // namespace atbprobe
