#include "bin_header.h"

namespace atbprobe {

std::string bin_header(const TensorCall& call) {
    const std::string bytes = std::to_string(call.bytes);
    std::string header = "$Version=1.0\n$Object.Count=1\n$Object.Length=" + bytes + "\nformat=";
    header += call.format;
    header += "\ndtype=";
    header += call.dtype;
    header += "\ndims=";
    header += call.dims;
    header += "\n$Object.data=0," + bytes + "\n$End=1\n";
    return header;
}

}  // namespace atbprobe
