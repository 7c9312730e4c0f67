// How the elements of each data type lie in memory and which value they stand for. Conversions take neither tables
// nor branches, so that loops over them become vector code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atbprobe {

template <typename Stored>
Stored load_as(const std::byte* data, size_t index) {
    Stored stored;
    std::memcpy(&stored, data + index * sizeof(Stored), sizeof(Stored));
    return stored;
}

template <typename Number>
struct PlainElement {
    using Value = Number;
    static constexpr size_t kSize = sizeof(Number);
    static Value load(const std::byte* data, size_t index) { return load_as<Number>(data, index); }
};

struct Bfloat16Element {
    using Value = float;
    static constexpr size_t kSize = 2;
    static Value load(const std::byte* data, size_t index) {
        const uint32_t bits = static_cast<uint32_t>(load_as<uint16_t>(data, index)) << 16U;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
};

// Exponent and mantissa of the half, moved to where a float has them, read as a number 2^112 too small, subnormal
// halves included, since the exponent biases differ by 112. Infinity and NaN come out at 2^16 or above and get the
// exponent that they have in a float.
struct Float16Element {
    using Value = float;
    static constexpr size_t kSize = 2;
    static Value load(const std::byte* data, size_t index) {
        const uint32_t half = load_as<uint16_t>(data, index);
        const uint32_t shifted = (half & 0x7fffU) << 13U;
        float value;
        std::memcpy(&value, &shifted, sizeof value);
        value *= 0x1p112F;
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        const uint32_t is_special = 0U - static_cast<uint32_t>((half & 0x7c00U) == 0x7c00U);
        bits |= (is_special & 0x7f800000U) | ((half & 0x8000U) << 16U);
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
};

// Anything but zero is true.
struct BoolElement {
    using Value = uint8_t;
    static constexpr size_t kSize = 1;
    static Value load(const std::byte* data, size_t index) {
        return static_cast<uint8_t>(load_as<uint8_t>(data, index) != 0);
    }
};

}  // namespace atbprobe
