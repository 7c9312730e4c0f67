// A line of one of the tables that tell of tensors, field by field.
#pragma once

#include <string>
#include <string_view>

#include "tensor_path.h"

namespace atbprobe {

inline constexpr std::string_view kNotAvailable = "N/A";

class CsvRow {
  public:
    void add(std::string_view field);

    // The columns from `Device and PID` to `Index`: which tensor of which operation this is.
    void add_address(const TensorPath& path);

    // The line with its line break.
    std::string take();

  private:
    std::string line_;
};

// `36x128` for `36,128`.
std::string shape_text(std::string_view dims);

}  // namespace atbprobe
