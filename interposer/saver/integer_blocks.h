// Maximum, minimum, sum and sum of squares of integers, exactly, in the version that the machine runs fastest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "element_types.h"
#include "vector_version.h"

namespace atbprobe {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// Of so many elements at most the sums below hold the totals.
inline constexpr size_t kIntegerBlock = 4096;

// The shorter the sums, the more of them fit a vector. Squares of more than 16 bits are added in two parts, below and
// above bit 32, and for 64-bit numbers the upper part needs 108 bits.
template <typename Value>
struct IntegerTotals {
    static constexpr size_t kSize = sizeof(Value);
    using Sum = std::conditional_t<kSize == 8, Int128, std::conditional_t<kSize == 4, int64_t, int32_t>>;
    using LowSquares = std::conditional_t<kSize == 1, uint32_t, uint64_t>;
    using HighSquares = std::conditional_t<kSize == 8, Uint128, uint64_t>;

    Value max = std::numeric_limits<Value>::lowest();
    Value min = std::numeric_limits<Value>::max();
    Sum sum = 0;
    LowSquares low_squares = 0;
    HighSquares high_squares = 0;

    void add(Value value) {
        max = value > max ? value : max;
        min = value < min ? value : min;
        sum += value;
        if constexpr (kSize <= 2) {
            // An int8 is a number here, not a character. NOLINTNEXTLINE(bugprone-signed-char-misuse)
            const auto wide = static_cast<int32_t>(value);
            low_squares += static_cast<uint32_t>(wide) * static_cast<uint32_t>(wide);
        } else if constexpr (kSize == 4) {
            const auto wide = static_cast<int64_t>(value);
            const uint64_t square = static_cast<uint64_t>(wide) * static_cast<uint64_t>(wide);
            low_squares += square & 0xffffffffU;
            high_squares += square >> 32U;
        } else {
            const auto bits = static_cast<uint64_t>(value);
            const uint64_t magnitude = std::is_signed_v<Value> && value < Value{0} ? uint64_t{0} - bits : bits;
            const Uint128 square = static_cast<Uint128>(magnitude) * magnitude;
            low_squares += static_cast<uint64_t>(square) & 0xffffffffU;
            high_squares += square >> 32U;
        }
    }

    double squares() const { return static_cast<double>(high_squares) * 0x1p32 + static_cast<double>(low_squares); }
};

// The totals of `count` elements, at most kIntegerBlock.
template <typename Element>
using IntegerBlock = IntegerTotals<typename Element::Value> (*)(const std::byte* data, size_t count);

// Element is PlainElement of an integer type, or BoolElement.
template <typename Element>
IntegerBlock<Element> integer_block(VectorVersion version);

}  // namespace atbprobe
