// Maximum, minimum, sum and sum of squares of floating-point numbers, in the version that the machine runs fastest.
//
// Each of kLanes elements side by side has its own of the four: the compiler may not reorder floating-point additions
// by itself, lanes let it use vectors all the same. What is in each lane is defined to the bit, so that all versions
// give the same. The squares of all types but double are exact in double.
#pragma once

#include <cstddef>
#include <limits>

#include "element_types.h"
#include "vector_version.h"

namespace atbprobe {

inline constexpr size_t kLanes = 16;

template <typename Value>
struct FloatLanes {
    alignas(64) Value max[kLanes];
    alignas(64) Value min[kLanes];
    alignas(64) double sum[kLanes];
    alignas(64) double squares[kLanes];  // NaN as soon as a NaN was met, and never otherwise

    FloatLanes() {
        for (size_t lane = 0; lane < kLanes; ++lane) {
            max[lane] = -std::numeric_limits<Value>::infinity();
            min[lane] = std::numeric_limits<Value>::infinity();
        }
        clear_sums();
    }

    void clear_sums() {
        for (size_t lane = 0; lane < kLanes; ++lane) sum[lane] = squares[lane] = 0;
    }

    void add(size_t lane, Value value) {
        max[lane] = value > max[lane] ? value : max[lane];
        min[lane] = value < min[lane] ? value : min[lane];
        const auto wide = static_cast<double>(value);
        sum[lane] += wide;
        squares[lane] += wide * wide;
    }
};

// Adds the first `count` elements, element i to lane i modulo kLanes.
template <typename Element>
using FloatBlock = void (*)(const std::byte* data, size_t count, FloatLanes<typename Element::Value>* lanes);

// Element is Float16Element, Bfloat16Element, PlainElement<float> or PlainElement<double>.
template <typename Element>
FloatBlock<Element> float_block(VectorVersion version);

#if defined(__x86_64__)
// Of those of kAvx2 and above; there is none for double, which is not worth one.
template <typename Element>
FloatBlock<Element> float_block_avx2();
template <typename Element>
FloatBlock<Element> float_block_avx512();
#endif

}  // namespace atbprobe
