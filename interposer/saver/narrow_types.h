// Types of at most eight bits that are no integers of a whole byte: what their codes stand for, and how many of them a
// buffer holds.
//
// A tensor of a type of fewer than eight bits comes in one of two ways, and its size tells which: one element in the
// low bits of each byte, or packed without gaps, the first element in the lowest bits. What is computed here does not
// depend on the order of elements, so packing matters only for whether bits belong to an element at all. Six bits
// packed cross the bounds of bytes in an order that is not documented: such a tensor is not decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor_type.h"

namespace atbprobe {

// 1 to 8; 0 for a type that is not decoded here.
unsigned narrow_bits(DataType type);

// The number that `code`, of narrow_bits(type) bits, stands for. float8_e5m2, float8_e4m3fn, float6_e3m2, float6_e2m3,
// float4_e2m1 and float8_e8m0 are those of the OCP specifications (8-bit Floating Point 1.0, Microscaling Formats
// 1.0); hifloat8 is that of "Ascend HiFloat8 Format for Deep Learning" (arXiv 2409.16626); float4_e1m2 has, like
// float4_e2m1, exponent bias 1, subnormal numbers and no infinities; int4 is in two's complement.
double narrow_value(DataType type, unsigned code);

// The number of elements of shape `dims` (`36,128`; empty for a scalar), if that can be told.
std::optional<uint64_t> element_count(std::string_view dims);

// How often each code occurs in a buffer.
class CodeCounts {
  public:
    // False if the buffer does not hold `elements` elements in either way.
    bool count(unsigned bits, const std::byte* data, uint64_t bytes, uint64_t elements);

    uint64_t of(unsigned code) const { return counts_[code]; }

  private:
    void count_bytes(const std::byte* data, uint64_t bytes, unsigned mask);
    void split(unsigned bits);

    uint64_t counts_[256] = {};
};

}  // namespace atbprobe
