#include "anomalies.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// The counts of a block take no branches, so that masks full of infinities cost no more than other tensors.
template <typename Element>
Anomalies in_numbers(const TensorData& tensor) {
    using Value = typename Element::Value;
    constexpr Value kInfinity = std::numeric_limits<Value>::infinity();
    constexpr uint64_t kBlock = 4096;
    Anomalies found;
    const uint64_t elements = tensor.bytes / Element::kSize;
    for (uint64_t done = 0; done < elements; done += kBlock) {
        const std::byte* block = tensor.data + done * Element::kSize;
        const auto size = static_cast<uint32_t>(std::min(kBlock, elements - done));
        uint32_t nan = 0;
        uint32_t positive = 0;
        uint32_t negative = 0;
        for (uint32_t i = 0; i < size; ++i) {
            const Value value = Element::load(block, i);
            nan += static_cast<uint32_t>(value != value);
            positive += static_cast<uint32_t>(value == kInfinity);
            negative += static_cast<uint32_t>(value == -kInfinity);
        }
        if (nan + positive + negative == 0) continue;
        if (!found.any()) {
            // The end counts too: the host may be changing the data meanwhile.
            found.first = done;
            while (found.first + 1 < elements && std::isfinite(Element::load(tensor.data, found.first))) ++found.first;
        }
        found.nan += nan;
        found.positive_infinity += positive;
        found.negative_infinity += negative;
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
