#include "extremes.h"

#include <algorithm>
#include <cmath>

#include "element_types.h"
#include "findings.h"
#include "host_thread.h"
#include "narrow_types.h"

namespace atbprobe {
namespace {

long double squared(double value) { return static_cast<long double>(value) * static_cast<long double>(value); }

// Of numbers among which there are NaN, which the statistics say nothing more of.
template <typename Element>
long double largest_of_numbers(const TensorCall& call) {
    const auto* data = static_cast<const std::byte*>(call.data);
    double largest = -1;
    for (uint64_t i = 0; i < call.bytes / Element::kSize; ++i) {
        const double magnitude = std::fabs(static_cast<double>(Element::load(data, i)));
        if (magnitude > largest) largest = magnitude;
    }
    return largest < 0 ? -1 : squared(largest);
}

template <typename Element>
long double largest_of_pairs(const TensorCall& call) {
    const auto* data = static_cast<const std::byte*>(call.data);
    long double largest = -1;
    for (uint64_t i = 0; i < call.bytes / (2 * Element::kSize); ++i) {
        const auto real = static_cast<double>(Element::load(data, 2 * i));
        const auto imaginary = static_cast<double>(Element::load(data, 2 * i + 1));
        const long double magnitude = squared(real) + squared(imaginary);
        if (magnitude > largest) largest = magnitude;
    }
    return largest;
}

long double largest_of_bytes(const TensorCall& call) {
    const DataType type = data_type(call.dtype);
    if (narrow_bits(type) != 8) return -1;
    const auto* data = static_cast<const std::byte*>(call.data);
    long double largest = -1;
    for (uint64_t i = 0; i < call.bytes; ++i) {
        const long double magnitude = squared(narrow_value(type, static_cast<unsigned>(data[i])));
        if (magnitude > largest) largest = magnitude;
    }
    return largest;
}

long double largest_beside_nan(const TensorCall& call) {
    switch (data_type(call.dtype)) {
        case DataType::kFloat:
            return largest_of_numbers<PlainElement<float>>(call);
        case DataType::kFloat16:
            return largest_of_numbers<Float16Element>(call);
        case DataType::kBfloat16:
            return largest_of_numbers<Bfloat16Element>(call);
        case DataType::kDouble:
            return largest_of_numbers<PlainElement<double>>(call);
        case DataType::kComplex32:
            return largest_of_pairs<Float16Element>(call);
        case DataType::kComplex64:
            return largest_of_pairs<PlainElement<float>>(call);
        case DataType::kComplex128:
            return largest_of_pairs<PlainElement<double>>(call);
        default:
            return largest_of_bytes(call);
    }
}

}  // namespace

Extremes find_extremes(const TensorCall& call) {
    if (call.data == nullptr) return {};
    const DefaultFloats floats;
    const Findings found = find_in(call);
    const Statistics& statistics = found.statistics;
    Extremes extremes;
    if (!statistics.known) return extremes;
    extremes.has_nan = found.anomalies.nan != 0;
    extremes.has_infinity = found.anomalies.positive_infinity + found.anomalies.negative_infinity != 0;
    if (extremes.has_nan) {
        extremes.magnitude_squared = largest_beside_nan(call);
    } else if (statistics.is_complex) {
        extremes.magnitude_squared = squared(statistics.max) + squared(statistics.max_imaginary);
    } else {
        extremes.magnitude_squared = std::max(squared(statistics.max), squared(statistics.min));
    }
    return extremes;
}

}  // namespace atbprobe
