#include "findings.h"

#include "narrow_types.h"

namespace atbprobe {

Findings find_in(const TensorCall& call) {
    const TensorData tensor{data_type(call.dtype), static_cast<const std::byte*>(call.data), call.bytes,
                            element_count(call.dims)};
    Findings found;
    found.statistics = compute_statistics(tensor);
    found.anomalies = find_anomalies(tensor, found.statistics);
    return found;
}

bool is_found_faster_than_copied(const TensorCall& call) {
    switch (data_type(call.dtype)) {
        case DataType::kFloat:
            return true;
        case DataType::kFloat16:
        case DataType::kBfloat16:
        case DataType::kInt8:
        case DataType::kInt16:
        case DataType::kInt32:
        case DataType::kUint8:
        case DataType::kUint16:
        case DataType::kUint32:
        case DataType::kBool:
            return best_vector_version() > VectorVersion::kBaseline;
        default:
            return false;
    }
}

}  // namespace atbprobe
