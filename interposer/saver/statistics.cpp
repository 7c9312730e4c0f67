// A tensor is read in blocks. Within a block floating-point numbers are added in lanes (float_blocks.h): a sum of a few
// hundred terms per lane loses next to nothing. The blocks' sums are then added with their rounding errors kept
// (Neumaier).
#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "compensated_sum.h"
#include "complex_statistics.h"
#include "element_types.h"
#include "float_blocks.h"
#include "integer_blocks.h"
#include "narrow_types.h"

namespace atbprobe {
namespace {

constexpr size_t kBlock = 4096;

double fold(const double (&lanes)[kLanes]) {
    double halves[kLanes];
    std::copy(lanes, lanes + kLanes, halves);
    for (size_t width = kLanes / 2; width > 0; width /= 2) {
        for (size_t lane = 0; lane < width; ++lane) halves[lane] += halves[lane + width];
    }
    return halves[0];
}

// Doubles whose squares or sums leave the range of double: once more, scaled by the power of two that brings the
// largest of them near one.
void rescue_sums(const std::byte* data, uint64_t count, double largest, Statistics* result) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::max(exponent, -1000);
    const double scale = std::ldexp(1.0, -exponent);
    CompensatedSum sum;
    CompensatedSum squares;
    for (uint64_t i = 0; i < count; ++i) {
        const double scaled = load_as<double>(data, i) * scale;
        sum.add(scaled);
        squares.add(scaled * scaled);
    }
    result->mean = std::ldexp(sum.total() / static_cast<double>(count), exponent);
    result->norm = std::ldexp(std::sqrt(squares.total()), exponent);
}

template <typename Element>
Statistics float_statistics(const std::byte* data, uint64_t count, VectorVersion version) {
    using Value = typename Element::Value;
    const FloatBlock<Element> add_block = float_block<Element>(version);
    FloatLanes<Value> lanes;
    CompensatedSum sum;
    CompensatedSum squares;
    for (uint64_t done = 0; done < count;) {
        const size_t block = static_cast<size_t>(std::min<uint64_t>(kBlock, count - done));
        add_block(data + done * Element::kSize, block, &lanes);
        sum.add(fold(lanes.sum));
        squares.add(fold(lanes.squares));
        lanes.clear_sums();
        done += block;
    }

    Statistics result;
    result.known = true;
    result.single_precision = std::is_same_v<Value, float>;
    result.max = static_cast<double>(*std::max_element(lanes.max, lanes.max + kLanes));
    result.min = static_cast<double>(*std::min_element(lanes.min, lanes.min + kLanes));
    result.mean = sum.total() / static_cast<double>(count);
    result.norm = std::sqrt(squares.total());
    if (std::isnan(squares.total())) {
        result.max = result.min = result.mean = result.norm = std::numeric_limits<double>::quiet_NaN();
        return result;
    }
    if constexpr (std::is_same_v<Value, double>) {
        constexpr double kSafeSquares = 0x1p-900;  // below, single squares may have been lost to underflow
        const double largest = std::max(std::fabs(result.max), std::fabs(result.min));
        const bool out_of_range =
            !std::isfinite(sum.total()) || !(squares.total() >= kSafeSquares) || !std::isfinite(squares.total());
        if (out_of_range && std::isfinite(largest) && largest > 0) rescue_sums(data, count, largest, &result);
    }
    return result;
}

template <typename Element>
Statistics integer_statistics(const std::byte* data, uint64_t count, VectorVersion version) {
    using Value = typename Element::Value;
    const IntegerBlock<Element> add_block = integer_block<Element>(version);
    Value max = std::numeric_limits<Value>::lowest();
    Value min = std::numeric_limits<Value>::max();
    Int128 sum = 0;
    CompensatedSum squares;
    for (uint64_t done = 0; done < count;) {
        const size_t block = static_cast<size_t>(std::min<uint64_t>(kIntegerBlock, count - done));
        const IntegerTotals<Value> totals = add_block(data + done * Element::kSize, block);
        max = std::max(max, totals.max);
        min = std::min(min, totals.min);
        sum += totals.sum;
        squares.add(totals.squares());
        done += block;
    }

    Statistics result;
    result.known = true;
    result.max = static_cast<double>(max);
    result.min = static_cast<double>(min);
    result.mean = static_cast<double>(sum) / static_cast<double>(count);
    result.norm = std::sqrt(squares.total());
    return result;
}

template <typename Element>
Statistics statistics_of(const std::byte* data, uint64_t bytes, VectorVersion version) {
    const uint64_t count = bytes / Element::kSize;
    if (count == 0) return {};
    if constexpr (std::is_floating_point_v<typename Element::Value>) {
        return float_statistics<Element>(data, count, version);
    } else {
        return integer_statistics<Element>(data, count, version);
    }
}

// Types with so few values are counted first: then every value is decoded once.
Statistics narrow_statistics(const TensorData& tensor) {
    const unsigned bits = narrow_bits(tensor.type);
    const uint64_t elements = bits == 8 ? tensor.bytes : tensor.elements.value_or(0);
    CodeCounts counts;
    if (bits == 0 || elements == 0 || !counts.count(bits, tensor.data, tensor.bytes, elements)) return {};
    Statistics result;
    result.known = true;
    result.max = -std::numeric_limits<double>::infinity();
    result.min = std::numeric_limits<double>::infinity();
    CompensatedSum sum;
    CompensatedSum squares;
    for (unsigned code = 0; code < 1U << bits; ++code) {
        if (counts.of(code) == 0) continue;
        const double value = narrow_value(tensor.type, code);
        if (std::isnan(value)) {
            result.max = result.min = result.mean = result.norm = value;
            return result;
        }
        const auto times = static_cast<double>(counts.of(code));
        result.max = std::max(result.max, value);
        result.min = std::min(result.min, value);
        sum.add(value * times);
        squares.add(value * value * times);
    }
    result.mean = sum.total() / static_cast<double>(elements);
    result.norm = std::sqrt(squares.total());
    return result;
}

}  // namespace

Statistics compute_statistics(const TensorData& tensor) { return compute_statistics(tensor, best_vector_version()); }

Statistics compute_statistics(const TensorData& tensor, VectorVersion version) {
    const std::byte* const data = tensor.data;
    const uint64_t bytes = tensor.bytes;
    switch (tensor.type) {
        case DataType::kFloat:
            return statistics_of<PlainElement<float>>(data, bytes, version);
        case DataType::kFloat16:
            return statistics_of<Float16Element>(data, bytes, version);
        case DataType::kBfloat16:
            return statistics_of<Bfloat16Element>(data, bytes, version);
        case DataType::kDouble:
            return statistics_of<PlainElement<double>>(data, bytes, version);
        case DataType::kInt8:
            return statistics_of<PlainElement<int8_t>>(data, bytes, version);
        case DataType::kInt16:
            return statistics_of<PlainElement<int16_t>>(data, bytes, version);
        case DataType::kInt32:
            return statistics_of<PlainElement<int32_t>>(data, bytes, version);
        case DataType::kInt64:
            return statistics_of<PlainElement<int64_t>>(data, bytes, version);
        case DataType::kUint8:
            return statistics_of<PlainElement<uint8_t>>(data, bytes, version);
        case DataType::kUint16:
            return statistics_of<PlainElement<uint16_t>>(data, bytes, version);
        case DataType::kUint32:
            return statistics_of<PlainElement<uint32_t>>(data, bytes, version);
        case DataType::kUint64:
            return statistics_of<PlainElement<uint64_t>>(data, bytes, version);
        case DataType::kBool:
            return statistics_of<BoolElement>(data, bytes, version);
        case DataType::kComplex32:
        case DataType::kComplex64:
        case DataType::kComplex128:
            return complex_statistics(tensor.type, data, bytes, version);
        default:
            return narrow_statistics(tensor);
    }
}

}  // namespace atbprobe
