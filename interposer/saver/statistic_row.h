// The lines of statistic.csv.
#pragma once

#include <string>
#include <string_view>

#include "saver.h"
#include "statistics.h"
#include "tensor_path.h"

namespace atbprobe {

inline constexpr std::string_view kStatisticHeader =
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,"
    "Tensor Path\n";

// One row with its line break. `stored_at` is the absolute path of the .bin, empty if there is none.
std::string statistic_row(const TensorCall& call, const TensorPath& path, const Statistics& statistics,
                          std::string_view stored_at);

}  // namespace atbprobe
