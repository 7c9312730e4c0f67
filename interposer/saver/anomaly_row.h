// The lines of anomaly.csv.
#pragma once

#include <string>
#include <string_view>

#include "anomalies.h"
#include "saver.h"
#include "tensor_path.h"

namespace atbprobe {

inline constexpr std::string_view kAnomalyHeader =
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Shape,NaN,+Inf,-Inf,First Position,"
    "First Index,Tensor Path\n";

// One row with its line break. `stored_at` is the absolute path of the .bin, empty if there is none.
std::string anomaly_row(const TensorCall& call, const TensorPath& path, const Anomalies& anomalies,
                        std::string_view stored_at);

}  // namespace atbprobe
