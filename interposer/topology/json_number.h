// Floating-point numbers as they stand in info/: written as JSON for Modern C++ writes them, which is what ATB itself
// and the readers of these files use: `2.0`, `1e-05`, `1e+300`.
#pragma once

#include <string>
#include <string_view>

namespace atbprobe {

// The text for a number that is `source` in the report and has the value `value`.
std::string json_real_text(std::string_view source, double value);

}  // namespace atbprobe
