#include "complex_statistics.h"

#include <algorithm>
#include <cmath>

#include "compensated_sum.h"
#include "element_types.h"

namespace atbprobe {
namespace {

// Halves the parts of large doubles so often that no sum of them overflows.
double safe_scale(const Statistics& parts) {
    const double largest = std::max(std::fabs(parts.max), std::fabs(parts.min));
    return largest > 0x1p900 && std::isfinite(largest) ? 0x1p-100 : 1.0;
}

// Magnitudes are only compared, and their squares compare alike: in long double, whose exponents reach far enough, and
// without the square root, which would map libm into every process.
long double magnitude_squared(double real, double imaginary) {
    const auto wide_real = static_cast<long double>(real);
    const auto wide_imaginary = static_cast<long double>(imaginary);
    return wide_real * wide_real + wide_imaginary * wide_imaginary;
}

template <typename Element>
Statistics statistics_of_pairs(DataType part_type, const std::byte* data, uint64_t bytes, VectorVersion version) {
    const uint64_t count = bytes / (2 * Element::kSize);
    Statistics result = compute_statistics({part_type, data, count * 2 * Element::kSize, count * 2}, version);
    if (!result.known || std::isnan(result.max)) return result;
    result.is_complex = true;
    result.single_precision = false;
    const double scale = safe_scale(result);
    long double largest = -1;
    long double smallest = INFINITY;
    CompensatedSum real_sum;
    CompensatedSum imaginary_sum;
    for (uint64_t i = 0; i < count; ++i) {
        const auto real = static_cast<double>(Element::load(data, 2 * i));
        const auto imaginary = static_cast<double>(Element::load(data, 2 * i + 1));
        const long double magnitude = magnitude_squared(real, imaginary);
        if (magnitude > largest) {
            largest = magnitude;
            result.max = real;
            result.max_imaginary = imaginary;
        }
        if (magnitude < smallest || i == 0) {
            smallest = magnitude;
            result.min = real;
            result.min_imaginary = imaginary;
        }
        real_sum.add(real * scale);
        imaginary_sum.add(imaginary * scale);
    }
    result.mean = real_sum.total() / static_cast<double>(count) / scale;
    result.mean_imaginary = imaginary_sum.total() / static_cast<double>(count) / scale;
    return result;
}

}  // namespace

Statistics complex_statistics(DataType type, const std::byte* data, uint64_t bytes, VectorVersion version) {
    switch (type) {
        case DataType::kComplex32:
            return statistics_of_pairs<Float16Element>(DataType::kFloat16, data, bytes, version);
        case DataType::kComplex64:
            return statistics_of_pairs<PlainElement<float>>(DataType::kFloat, data, bytes, version);
        case DataType::kComplex128:
            return statistics_of_pairs<PlainElement<double>>(DataType::kDouble, data, bytes, version);
        default:
            return {};
    }
}

}  // namespace atbprobe
