#include "narrow_types.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace atbprobe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Minifloat {
    int exponent_bits;
    int mantissa_bits;
    int bias;
};

double signed_value(bool is_negative, double magnitude) { return is_negative ? -magnitude : magnitude; }

// Sign, exponent, mantissa; exponent 0 for subnormal numbers. Infinities and NaN are up to the caller.
double minifloat_value(const Minifloat& format, unsigned code) {
    const unsigned mantissa_end = 1U << static_cast<unsigned>(format.mantissa_bits);
    const unsigned mantissa = code % mantissa_end;
    const unsigned exponent = (code / mantissa_end) % (1U << static_cast<unsigned>(format.exponent_bits));
    const bool is_negative = (code >> static_cast<unsigned>(format.mantissa_bits + format.exponent_bits)) != 0;
    const unsigned significand = exponent == 0 ? mantissa : mantissa + mantissa_end;
    const int scale = static_cast<int>(std::max(exponent, 1U)) - format.bias - format.mantissa_bits;
    return signed_value(is_negative, std::ldexp(static_cast<double>(significand), scale));
}

double float8_e5m2_value(unsigned code) {
    const unsigned magnitude = code & 0x7fU;
    constexpr unsigned kInfinityCode = 0x7c;
    if (magnitude > kInfinityCode) return kNan;
    if (magnitude == kInfinityCode) return signed_value(code >= 0x80, kInfinity);
    return minifloat_value({5, 2, 15}, code);
}

double float8_e4m3fn_value(unsigned code) { return (code & 0x7fU) == 0x7f ? kNan : minifloat_value({4, 3, 7}, code); }

double float8_e8m0_value(unsigned code) { return code == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127); }

// After the sign a prefix code tells how many bits the exponent has: 11, 10, 01, 001, 0001 for 4, 3, 2, 1, 0; 0000 for
// subnormal numbers. The exponent is a sign and a magnitude whose leading one is left out; the rest is the mantissa.
double hifloat8_value(unsigned code) {
    if (code == 0x80) return kNan;
    const bool is_negative = code >= 0x80;
    const unsigned rest = code & 0x7fU;
    constexpr unsigned kInfinityCode = 0x6f;
    if (rest == kInfinityCode) return signed_value(is_negative, kInfinity);
    if (rest < 8) return rest == 0 ? 0.0 : signed_value(is_negative, std::ldexp(1.0, static_cast<int>(rest) - 23));

    unsigned exponent_bits = 0;
    unsigned prefix_bits = 4;
    if (rest >= 0x20) {
        exponent_bits = (rest >> 5U) + 1;
        prefix_bits = 2;
    } else if (rest >= 0x10) {
        exponent_bits = 1;
        prefix_bits = 3;
    }
    const unsigned mantissa_bits = 7 - prefix_bits - exponent_bits;
    const unsigned mantissa = rest & ((1U << mantissa_bits) - 1);
    int exponent = 0;
    if (exponent_bits > 0) {
        const unsigned field = (rest >> mantissa_bits) & ((1U << exponent_bits) - 1);
        const unsigned leading_one = 1U << (exponent_bits - 1);
        exponent = static_cast<int>(leading_one | field);
        if ((field & leading_one) != 0) exponent = -exponent;
    }
    const double significand = 1.0 + std::ldexp(static_cast<double>(mantissa), -static_cast<int>(mantissa_bits));
    return signed_value(is_negative, std::ldexp(significand, exponent));
}

}  // namespace

unsigned narrow_bits(DataType type) {
    switch (type) {
        case DataType::kUint1:
            return 1;
        case DataType::kInt4:
        case DataType::kFloat4E2m1:
        case DataType::kFloat4E1m2:
            return 4;
        case DataType::kFloat6E3m2:
        case DataType::kFloat6E2m3:
            return 6;
        case DataType::kHifloat8:
        case DataType::kFloat8E5m2:
        case DataType::kFloat8E4m3fn:
        case DataType::kFloat8E8m0:
            return 8;
        default:
            return 0;
    }
}

double narrow_value(DataType type, unsigned code) {
    switch (type) {
        case DataType::kUint1:
            return static_cast<double>(code);
        case DataType::kInt4:
            return static_cast<double>(code) - (code >= 8 ? 16.0 : 0.0);
        case DataType::kFloat4E2m1:
            return minifloat_value({2, 1, 1}, code);
        case DataType::kFloat4E1m2:
            return minifloat_value({1, 2, 1}, code);
        case DataType::kFloat6E3m2:
            return minifloat_value({3, 2, 3}, code);
        case DataType::kFloat6E2m3:
            return minifloat_value({2, 3, 1}, code);
        case DataType::kHifloat8:
            return hifloat8_value(code);
        case DataType::kFloat8E5m2:
            return float8_e5m2_value(code);
        case DataType::kFloat8E4m3fn:
            return float8_e4m3fn_value(code);
        case DataType::kFloat8E8m0:
            return float8_e8m0_value(code);
        default:
            return kNan;
    }
}

std::optional<uint64_t> element_count(std::string_view dims) {
    uint64_t count = 1;
    const char* at = dims.data();
    const char* const end = at + dims.size();
    while (at != end) {
        uint64_t size = 0;
        const auto read = std::from_chars(at, end, size);
        if (read.ec != std::errc() || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
        at = read.ptr;
        if (at == end) break;
        const bool is_followed = *at == ',' && at + 1 != end;
        if (!is_followed) return std::nullopt;
        ++at;
    }
    return count;
}

// Bytes are counted in four places in turn: the same byte many times over would make each addition wait for the one
// before.
void CodeCounts::count_bytes(const std::byte* data, uint64_t bytes, unsigned mask) {
    constexpr size_t kPlaces = 4;
    uint64_t places[kPlaces][256] = {};
    for (uint64_t i = 0; i < bytes; ++i) ++places[i % kPlaces][std::to_integer<unsigned>(data[i]) & mask];
    for (unsigned code = 0; code < 256; ++code) {
        for (const auto& place : places) counts_[code] += place[code];
    }
}

// From counts of bytes to those of the codes of `bits` bits in them.
void CodeCounts::split(unsigned bits) {
    uint64_t codes[256] = {};
    const unsigned mask = (1U << bits) - 1;
    for (unsigned byte = 0; byte < 256; ++byte) {
        for (unsigned shift = 0; shift < 8; shift += bits) codes[(byte >> shift) & mask] += counts_[byte];
    }
    std::copy(codes, codes + 256, counts_);
}

bool CodeCounts::count(unsigned bits, const std::byte* data, uint64_t bytes, uint64_t elements) {
    const unsigned mask = (1U << bits) - 1;
    if (bytes == elements) {
        count_bytes(data, bytes, mask);
        return true;
    }
    if (8 % bits != 0) return false;
    const uint64_t in_byte = 8 / bits;
    if (bytes != elements / in_byte + (elements % in_byte != 0 ? 1 : 0)) return false;
    count_bytes(data, elements / in_byte, 0xff);
    split(bits);
    for (uint64_t i = 0; i < elements % in_byte; ++i) {
        ++counts_[(std::to_integer<unsigned>(data[bytes - 1]) >> (i * bits)) & mask];
    }
    return true;
}

}  // namespace atbprobe
