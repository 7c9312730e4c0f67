// Only the functions with a `target` may use more than every machine of an architecture has. What is inlined into them
// is always inlined, and none of it is of the standard library, whose code might then be taken for all of the library.
#include "double_blocks.h"

#include "always_inline.h"
#include "saver/element_types.h"

#if defined(__x86_64__)
#define ATBPROBE_AVX2 __attribute__((target("avx2,f16c")))
#define ATBPROBE_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#endif

namespace atbprobe {
namespace {

constexpr double kThousandth = 0.001;
constexpr double kTwoHundredth = 0.005;

// Elements side by side, as many as the registers of a version hold, each with sums of its own: the compiler may not
// reorder additions by itself. Wider vectors than the registers would be taken apart element by element.
template <size_t kWidth>
struct Vectors {
    // NOLINTBEGIN(modernize-use-using): with `using`, GCC forgets the attribute where its size depends on a parameter
    typedef double Lanes __attribute__((vector_size(kWidth * sizeof(double))));
    typedef int64_t Counts __attribute__((vector_size(kWidth * sizeof(int64_t))));
    // NOLINTEND(modernize-use-using)
};

ATBPROBE_INLINE double magnitude_of(double value) { return value < 0 ? -value : value; }

ATBPROBE_INLINE void add_one(double golden, double target, double epsilon, Differences* found) {
    const double distance = magnitude_of(target - golden);
    const double ratio = distance / (golden == 0 ? epsilon : magnitude_of(golden));
    found->product += golden * target;
    found->squared_distance += distance * distance;
    found->largest_absolute = distance > found->largest_absolute ? distance : found->largest_absolute;
    found->largest_relative = ratio > found->largest_relative ? ratio : found->largest_relative;
    found->below_1000th += static_cast<uint64_t>(ratio < kThousandth);
    found->below_200th += static_cast<uint64_t>(ratio < kTwoHundredth);
}

template <size_t kWidth>
ATBPROBE_INLINE Differences differences(const double* golden, const double* target, size_t count, double epsilon) {
    using Lanes = typename Vectors<kWidth>::Lanes;
    using Counts = typename Vectors<kWidth>::Counts;
    Lanes product{};
    Lanes squared{};
    Lanes absolute{};
    Lanes relative{};
    Counts below_1000th{};
    Counts below_200th{};
    size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        Lanes g;
        Lanes t;
        __builtin_memcpy(&g, golden + i, sizeof g);
        __builtin_memcpy(&t, target + i, sizeof t);
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
    Differences found;
    for (size_t lane = 0; lane < kWidth; ++lane) {
        found.product += product[lane];
        found.squared_distance += squared[lane];
        found.largest_absolute = absolute[lane] > found.largest_absolute ? absolute[lane] : found.largest_absolute;
        found.largest_relative = relative[lane] > found.largest_relative ? relative[lane] : found.largest_relative;
        found.below_1000th += static_cast<uint64_t>(below_1000th[lane]);
        found.below_200th += static_cast<uint64_t>(below_200th[lane]);
    }
    for (; i < count; ++i) add_one(golden[i], target[i], epsilon, &found);
    return found;
}

// Two vectors at a time: a single one would wait for its last addition.
template <size_t kWidth>
ATBPROBE_INLINE SideSums side_sums(const double* values, size_t count) {
    using Lanes = typename Vectors<kWidth>::Lanes;
    SideSums side;
    Lanes largest[2] = {Lanes{} + side.largest, Lanes{} + side.largest};
    Lanes smallest[2] = {Lanes{} + side.smallest, Lanes{} + side.smallest};
    Lanes sum[2] = {};
    Lanes squares[2] = {};
    size_t i = 0;
    for (; i + 2 * kWidth <= count; i += 2 * kWidth) {
        for (size_t half = 0; half < 2; ++half) {
            Lanes value;
            __builtin_memcpy(&value, values + i + half * kWidth, sizeof value);
            largest[half] = value > largest[half] ? value : largest[half];
            smallest[half] = value < smallest[half] ? value : smallest[half];
            sum[half] += value;
            squares[half] += value * value;
        }
    }
    for (size_t lane = 0; lane < 2 * kWidth; ++lane) {
        const size_t half = lane / kWidth;
        const size_t place = lane % kWidth;
        side.largest = largest[half][place] > side.largest ? largest[half][place] : side.largest;
        side.smallest = smallest[half][place] < side.smallest ? smallest[half][place] : side.smallest;
        side.sum += sum[half][place];
        side.squares += squares[half][place];
    }
    for (; i < count; ++i) {
        side.largest = values[i] > side.largest ? values[i] : side.largest;
        side.smallest = values[i] < side.smallest ? values[i] : side.smallest;
        side.sum += values[i];
        side.squares += values[i] * values[i];
    }
    return side;
}

template <typename Element>
ATBPROBE_INLINE void convert(const std::byte* data, size_t count, double* values) {
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(Element::load(data, i));
}

Differences differences_baseline(const double* golden, const double* target, size_t count, double epsilon) {
    return differences<2>(golden, target, count, epsilon);
}

SideSums side_sums_baseline(const double* values, size_t count) { return side_sums<2>(values, count); }

template <typename Element>
void convert_baseline(const std::byte* data, size_t count, double* values) {
    convert<Element>(data, count, values);
}

#if defined(__x86_64__)

ATBPROBE_AVX2 Differences differences_avx2(const double* golden, const double* target, size_t count, double epsilon) {
    return differences<4>(golden, target, count, epsilon);
}

ATBPROBE_AVX512 Differences differences_avx512(const double* golden, const double* target, size_t count,
                                               double epsilon) {
    return differences<8>(golden, target, count, epsilon);
}

ATBPROBE_AVX2 SideSums side_sums_avx2(const double* values, size_t count) { return side_sums<4>(values, count); }

ATBPROBE_AVX512 SideSums side_sums_avx512(const double* values, size_t count) { return side_sums<8>(values, count); }

template <typename Element>
ATBPROBE_AVX2 void convert_avx2(const std::byte* data, size_t count, double* values) {
    convert<Element>(data, count, values);
}

template <typename Element>
ATBPROBE_AVX512 void convert_avx512(const std::byte* data, size_t count, double* values) {
    convert<Element>(data, count, values);
}

#endif

}  // namespace

DifferenceBlock difference_block(VectorVersion version) {
#if defined(__x86_64__)
    if (version == VectorVersion::kAvx512) return differences_avx512;
    if (version == VectorVersion::kAvx2) return differences_avx2;
#endif
    (void)version;
    return differences_baseline;
}

SideBlock side_block(VectorVersion version) {
#if defined(__x86_64__)
    if (version == VectorVersion::kAvx512) return side_sums_avx512;
    if (version == VectorVersion::kAvx2) return side_sums_avx2;
#endif
    (void)version;
    return side_sums_baseline;
}

template <typename Element>
ConvertBlock convert_block(VectorVersion version) {
#if defined(__x86_64__)
    if (version == VectorVersion::kAvx512) return convert_avx512<Element>;
    if (version == VectorVersion::kAvx2) return convert_avx2<Element>;
#endif
    (void)version;
    return convert_baseline<Element>;
}

template ConvertBlock convert_block<PlainElement<float>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<double>>(VectorVersion version);
template ConvertBlock convert_block<Float16Element>(VectorVersion version);
template ConvertBlock convert_block<Bfloat16Element>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<int8_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<uint8_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<int16_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<uint16_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<int32_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<uint32_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<int64_t>>(VectorVersion version);
template ConvertBlock convert_block<PlainElement<uint64_t>>(VectorVersion version);
template ConvertBlock convert_block<BoolElement>(VectorVersion version);

}  // namespace atbprobe
