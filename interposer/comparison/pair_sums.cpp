// One pass over blocks that stay in the first cache. A block that is the same to the bit on both sides costs the sums
// of one side. A block that turns out to hold NaN or infinities is done once more without them.
#include "pair_sums.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "always_inline.h"
#include "saver/element_types.h"
#include "saver/tensor_type.h"

#if defined(__x86_64__) && !defined(__clang__)
#define ATBPROBE_VERSIONS __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define ATBPROBE_VERSIONS
#endif

namespace atbprobe {
namespace {

constexpr size_t kBlock = 1024;
constexpr double kThousandth = 0.001;
constexpr double kTwoHundredth = 0.005;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements side by side, each with sums of its own: the compiler may not reorder additions by itself. GCC and clang
// make what the machine has of it.
constexpr size_t kLanes = 4;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using LaneCounts = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));

double larger(double one, double other) { return other > one || std::isnan(other) ? other : one; }

double sum_of(const Lanes& lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

double largest_of(const Lanes& lanes) { return larger(larger(lanes[0], lanes[1]), larger(lanes[2], lanes[3])); }

struct Totals {
    SideSums golden{-kInfinity, kInfinity, 0, 0};
    SideSums target{-kInfinity, kInfinity, 0, 0};
    double product = 0;
    double squared_distance = 0;
    double largest_absolute = 0;
    double largest_relative = 0;
    uint64_t below_1000th = 0;
    uint64_t below_200th = 0;
};

ATBPROBE_INLINE SideSums add_side(const double* values, size_t count) {
    Lanes largest = Lanes{} - kInfinity;
    Lanes negated_smallest = largest;
    Lanes sum{};
    Lanes squares{};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes value;
        std::memcpy(&value, values + i, sizeof value);
        const Lanes negated = -value;
        largest = value > largest ? value : largest;
        negated_smallest = negated > negated_smallest ? negated : negated_smallest;
        sum += value;
        squares += value * value;
    }
    SideSums side{largest_of(largest), -largest_of(negated_smallest), sum_of(sum), sum_of(squares)};
    for (; i < count; ++i) {
        side.largest = values[i] > side.largest ? values[i] : side.largest;
        side.smallest = values[i] < side.smallest ? values[i] : side.smallest;
        side.sum += values[i];
        side.squares += values[i] * values[i];
    }
    if (std::isnan(side.squares)) side.largest = side.smallest = side.sum = side.squares;
    return side;
}

ATBPROBE_INLINE void add_differences(const double* golden, const double* target, size_t count, double epsilon,
                                     Totals* totals) {
    Lanes product{};
    Lanes squared{};
    Lanes absolute{};
    Lanes relative{};
    LaneCounts below_1000th{};
    LaneCounts below_200th{};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes g;
        Lanes t;
        std::memcpy(&g, golden + i, sizeof g);
        std::memcpy(&t, target + i, sizeof t);
        product += g * t;
        const Lanes difference = t - g;
        squared += difference * difference;
        const Lanes distance = difference < 0 ? -difference : difference;
        const Lanes magnitude = g < 0 ? -g : g;
        const Lanes ratio = distance / (magnitude == 0 ? Lanes{} + epsilon : magnitude);
        absolute = distance > absolute ? distance : absolute;
        relative = ratio > relative ? ratio : relative;
        below_1000th -= ratio < kThousandth;  // true is -1
        below_200th -= ratio < kTwoHundredth;
    }
    totals->product = sum_of(product);
    totals->squared_distance = sum_of(squared);
    totals->largest_absolute = largest_of(absolute);
    totals->largest_relative = largest_of(relative);
    for (size_t lane = 0; lane < kLanes; ++lane) {
        totals->below_1000th += static_cast<uint64_t>(below_1000th[lane]);
        totals->below_200th += static_cast<uint64_t>(below_200th[lane]);
    }
    for (; i < count; ++i) {
        const double distance = std::fabs(target[i] - golden[i]);
        const double ratio = distance / (golden[i] == 0 ? epsilon : std::fabs(golden[i]));
        totals->product += golden[i] * target[i];
        totals->squared_distance += distance * distance;
        totals->largest_absolute = larger(totals->largest_absolute, distance);
        totals->largest_relative = larger(totals->largest_relative, ratio);
        totals->below_1000th += static_cast<uint64_t>(ratio < kThousandth);
        totals->below_200th += static_cast<uint64_t>(ratio < kTwoHundredth);
    }
}

// Zero on both sides stands for an element that is not finite on either; returns how many are not the same on both.
uint64_t take_out_the_infinite(double* golden, double* target, size_t count) {
    uint64_t mismatches = 0;
    for (size_t i = 0; i < count; ++i) {
        if (std::isfinite(golden[i]) && std::isfinite(target[i])) continue;
        const bool is_same = golden[i] == target[i] || (std::isnan(golden[i]) && std::isnan(target[i]));
        mismatches += static_cast<uint64_t>(!is_same);
        golden[i] = target[i] = 0;
    }
    return mismatches;
}

void add_to(SideSums* sums, const SideSums& block) {
    sums->largest = larger(sums->largest, block.largest);
    sums->smallest = -larger(-sums->smallest, -block.smallest);
    sums->sum += block.sum;
    sums->squares += block.squares;
}

void add_block(PairSums* sums, const Totals& totals, size_t count, uint64_t mismatches) {
    sums->golden_squares += totals.golden.squares;
    sums->target_squares += totals.target.squares;
    sums->product += totals.product;
    sums->squared_distance += totals.squared_distance;
    sums->largest_absolute = larger(sums->largest_absolute, totals.largest_absolute);
    sums->largest_relative = larger(sums->largest_relative, totals.largest_relative);
    sums->magnitude = larger(larger(sums->magnitude, totals.golden.largest), -totals.golden.smallest);
    sums->elements += count;
    sums->mismatches += mismatches;
    sums->below_1000th += totals.below_1000th - mismatches;
    sums->below_200th += totals.below_200th - mismatches;
}

// `golden` and `target` are changed where they hold what is not finite.
ATBPROBE_INLINE void add_values(double* golden, double* target, size_t count, bool is_same, double epsilon,
                                PairSums* sums) {
    Totals totals;
    totals.golden = add_side(golden, count);
    totals.target = is_same ? totals.golden : add_side(target, count);
    add_to(&sums->golden_side, totals.golden);
    add_to(&sums->target_side, totals.target);
    uint64_t mismatches = 0;
    if (!std::isfinite(totals.golden.squares + totals.target.squares)) {
        mismatches = take_out_the_infinite(golden, is_same ? golden : target, count);
        totals.golden = add_side(golden, count);
        totals.target = is_same ? totals.golden : add_side(target, count);
    }
    if (is_same) {
        totals.product = totals.golden.squares;
        totals.below_1000th = totals.below_200th = count;
    } else {
        add_differences(golden, target, count, epsilon, &totals);
        ++sums->differing_blocks;
    }
    add_block(sums, totals, count, mismatches);
}

template <typename Element>
ATBPROBE_INLINE void add_elements(const std::byte* golden, const std::byte* target, uint64_t count, double epsilon,
                                  PairSums* sums) {
    alignas(64) double golden_values[kBlock];
    alignas(64) double target_values[kBlock];
    for (uint64_t done = 0; done < count;) {
        const uint64_t left = count - done;
        const size_t block = left < kBlock ? static_cast<size_t>(left) : kBlock;
        const std::byte* golden_block = golden + done * Element::kSize;
        const std::byte* target_block = target + done * Element::kSize;
        const bool is_same = std::memcmp(golden_block, target_block, block * Element::kSize) == 0;
        for (size_t i = 0; i < block; ++i) golden_values[i] = static_cast<double>(Element::load(golden_block, i));
        if (!is_same) {
            for (size_t i = 0; i < block; ++i) target_values[i] = static_cast<double>(Element::load(target_block, i));
        }
        add_values(golden_values, target_values, block, is_same, epsilon, sums);
        done += block;
    }
}

ATBPROBE_VERSIONS void add_floats(const std::byte* golden, const std::byte* target, uint64_t count, double epsilon,
                                  PairSums* sums) {
    add_elements<PlainElement<float>>(golden, target, count, epsilon, sums);
}

ATBPROBE_VERSIONS void add_doubles(const std::byte* golden, const std::byte* target, uint64_t count, double epsilon,
                                   PairSums* sums) {
    add_elements<PlainElement<double>>(golden, target, count, epsilon, sums);
}

ATBPROBE_VERSIONS void add_halves(const std::byte* golden, const std::byte* target, uint64_t count, double epsilon,
                                  PairSums* sums) {
    add_elements<Float16Element>(golden, target, count, epsilon, sums);
}

ATBPROBE_VERSIONS void add_bfloats(const std::byte* golden, const std::byte* target, uint64_t count, double epsilon,
                                   PairSums* sums) {
    add_elements<Bfloat16Element>(golden, target, count, epsilon, sums);
}

}  // namespace
}  // namespace atbprobe

bool atbprobe_add_pair(uint32_t dtype, const void* golden, const void* target, uint64_t count, double epsilon,
                       atbprobe::PairSums* sums) {
    using namespace atbprobe;
    const auto* golden_bytes = static_cast<const std::byte*>(golden);
    const auto* target_bytes = static_cast<const std::byte*>(target);
    switch (static_cast<DataType>(dtype)) {
        case DataType::kFloat:
            add_floats(golden_bytes, target_bytes, count, epsilon, sums);
            return true;
        case DataType::kFloat16:
            add_halves(golden_bytes, target_bytes, count, epsilon, sums);
            return true;
        case DataType::kDouble:
            add_doubles(golden_bytes, target_bytes, count, epsilon, sums);
            return true;
        case DataType::kBfloat16:
            add_bfloats(golden_bytes, target_bytes, count, epsilon, sums);
            return true;
        default:
            return false;
    }
}
