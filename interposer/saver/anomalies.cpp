#include "anomalies.h"

#include <cmath>

#include "element_types.h"
#include "narrow_types.h"

namespace atbprobe {
namespace {

void count(double value, uint64_t position, Anomalies* found) {
    if (std::isfinite(value)) return;
    if (!found->any()) found->first = position;
    if (std::isnan(value)) {
        ++found->nan;
    } else {
        ++(value > 0 ? found->positive_infinity : found->negative_infinity);
    }
}

template <typename Element>
Anomalies in_numbers(const TensorData& tensor) {
    Anomalies found;
    const uint64_t elements = tensor.bytes / Element::kSize;
    for (uint64_t i = 0; i < elements; ++i) {
        count(static_cast<double>(Element::load(tensor.data, i)), i, &found);
    }
    return found;
}

template <typename Element>
Anomalies in_pairs(const TensorData& tensor) {
    Anomalies found;
    const uint64_t elements = tensor.bytes / (2 * Element::kSize);
    for (uint64_t i = 0; i < elements; ++i) {
        const auto real = static_cast<double>(Element::load(tensor.data, 2 * i));
        const auto imaginary = static_cast<double>(Element::load(tensor.data, 2 * i + 1));
        count(std::isnan(imaginary) || std::isfinite(real) ? imaginary : real, i, &found);
    }
    return found;
}

// Types of fewer than eight bits have neither NaN nor infinities.
Anomalies in_bytes(const TensorData& tensor) {
    Anomalies found;
    if (narrow_bits(tensor.type) != 8) return found;
    for (uint64_t i = 0; i < tensor.bytes; ++i) {
        count(narrow_value(tensor.type, static_cast<unsigned>(tensor.data[i])), i, &found);
    }
    return found;
}

}  // namespace

Anomalies find_anomalies(const TensorData& tensor, const Statistics& statistics) {
    const bool is_clean = std::isfinite(statistics.norm) && std::isfinite(statistics.max) &&
                          std::isfinite(statistics.min) && std::isfinite(statistics.mean);
    if (!statistics.known || is_clean) return {};
    switch (tensor.type) {
        case DataType::kFloat:
            return in_numbers<PlainElement<float>>(tensor);
        case DataType::kFloat16:
            return in_numbers<Float16Element>(tensor);
        case DataType::kBfloat16:
            return in_numbers<Bfloat16Element>(tensor);
        case DataType::kDouble:
            return in_numbers<PlainElement<double>>(tensor);
        case DataType::kComplex32:
            return in_pairs<Float16Element>(tensor);
        case DataType::kComplex64:
            return in_pairs<PlainElement<float>>(tensor);
        case DataType::kComplex128:
            return in_pairs<PlainElement<double>>(tensor);
        default:
            return in_bytes(tensor);
    }
}

}  // namespace atbprobe
