// Only the functions with a `target` here may use more than every x86-64 has. They are not inlined into others, and no
// template of the standard library is instantiated in them, whose code might then be taken for all of the library.
#include "float_blocks.h"

#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)
// The registers that GCC's own header leaves undefined on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define ATBPROBE_AVX2 __attribute__((target("avx2,f16c")))
#define ATBPROBE_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace atbprobe {
namespace {

template <typename Element>
struct Loads;

template <>
struct Loads<PlainElement<float>> {
    ATBPROBE_AVX2 static inline __m256 eight(const std::byte* data) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(data));
    }
    ATBPROBE_AVX512 static inline __m512 sixteen(const std::byte* data) { return _mm512_loadu_ps(data); }
};

template <>
struct Loads<Float16Element> {
    ATBPROBE_AVX2 static inline __m256 eight(const std::byte* data) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data)));
    }
    ATBPROBE_AVX512 static inline __m512 sixteen(const std::byte* data) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)));
    }
};

template <>
struct Loads<Bfloat16Element> {
    ATBPROBE_AVX2 static inline __m256 eight(const std::byte* data) {
        const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
    }
    ATBPROBE_AVX512 static inline __m512 sixteen(const std::byte* data) {
        const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
    }
};

template <typename Element>
void add_rest(const std::byte* data, size_t done, size_t count, FloatLanes<float>* lanes) {
    for (size_t lane = 0; done < count; ++done, ++lane) lanes->add(lane, Element::load(data, done));
}

// Four sums of doubles in each of four registers, and four sums of squares.
struct Avx2Sums {
    __m256d sum[4];
    __m256d squares[4];
};

ATBPROBE_AVX2 inline void add_doubles(Avx2Sums* sums, size_t index, __m128 values) {
    const __m256d wide = _mm256_cvtps_pd(values);
    sums->sum[index] = _mm256_add_pd(sums->sum[index], wide);
    sums->squares[index] = _mm256_add_pd(sums->squares[index], _mm256_mul_pd(wide, wide));
}

// The first operand of max and min is the new value: where it is NaN they give the second.
template <typename Element>
ATBPROBE_AVX2 void add_avx2(const std::byte* data, size_t count, FloatLanes<float>* lanes) {
    __m256 max[2];
    __m256 min[2];
    Avx2Sums sums;
    for (size_t half = 0; half < 2; ++half) {
        max[half] = _mm256_load_ps(lanes->max + 8 * half);
        min[half] = _mm256_load_ps(lanes->min + 8 * half);
    }
    for (size_t quarter = 0; quarter < 4; ++quarter) {
        sums.sum[quarter] = _mm256_load_pd(lanes->sum + 4 * quarter);
        sums.squares[quarter] = _mm256_load_pd(lanes->squares + 4 * quarter);
    }
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (size_t half = 0; half < 2; ++half) {
            const __m256 values = Loads<Element>::eight(data + (i + 8 * half) * Element::kSize);
            max[half] = _mm256_max_ps(values, max[half]);
            min[half] = _mm256_min_ps(values, min[half]);
            add_doubles(&sums, 2 * half, _mm256_castps256_ps128(values));
            add_doubles(&sums, 2 * half + 1, _mm256_extractf128_ps(values, 1));
        }
    }
    for (size_t half = 0; half < 2; ++half) {
        _mm256_store_ps(lanes->max + 8 * half, max[half]);
        _mm256_store_ps(lanes->min + 8 * half, min[half]);
    }
    for (size_t quarter = 0; quarter < 4; ++quarter) {
        _mm256_store_pd(lanes->sum + 4 * quarter, sums.sum[quarter]);
        _mm256_store_pd(lanes->squares + 4 * quarter, sums.squares[quarter]);
    }
    add_rest<Element>(data, i, count, lanes);
}

template <typename Element>
ATBPROBE_AVX512 void add_avx512(const std::byte* data, size_t count, FloatLanes<float>* lanes) {
    __m512 max = _mm512_load_ps(lanes->max);
    __m512 min = _mm512_load_ps(lanes->min);
    __m512d low_sum = _mm512_load_pd(lanes->sum);
    __m512d high_sum = _mm512_load_pd(lanes->sum + 8);
    __m512d low_squares = _mm512_load_pd(lanes->squares);
    __m512d high_squares = _mm512_load_pd(lanes->squares + 8);
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const __m512 values = Loads<Element>::sixteen(data + i * Element::kSize);
        max = _mm512_max_ps(values, max);
        min = _mm512_min_ps(values, min);
        const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(values));
        const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1));
        low_sum = _mm512_add_pd(low_sum, low);
        high_sum = _mm512_add_pd(high_sum, high);
        // The product is exact, so it does not matter that it is not rounded by itself.
        low_squares = _mm512_fmadd_pd(low, low, low_squares);
        high_squares = _mm512_fmadd_pd(high, high, high_squares);
    }
    _mm512_store_ps(lanes->max, max);
    _mm512_store_ps(lanes->min, min);
    _mm512_store_pd(lanes->sum, low_sum);
    _mm512_store_pd(lanes->sum + 8, high_sum);
    _mm512_store_pd(lanes->squares, low_squares);
    _mm512_store_pd(lanes->squares + 8, high_squares);
    add_rest<Element>(data, i, count, lanes);
}

}  // namespace

template <typename Element>
FloatBlock<Element> float_block_avx2() {
    return add_avx2<Element>;
}
template <typename Element>
FloatBlock<Element> float_block_avx512() {
    return add_avx512<Element>;
}

template FloatBlock<Float16Element> float_block_avx2<Float16Element>();
template FloatBlock<Bfloat16Element> float_block_avx2<Bfloat16Element>();
template FloatBlock<PlainElement<float>> float_block_avx2<PlainElement<float>>();
template FloatBlock<Float16Element> float_block_avx512<Float16Element>();
template FloatBlock<Bfloat16Element> float_block_avx512<Bfloat16Element>();
template FloatBlock<PlainElement<float>> float_block_avx512<PlainElement<float>>();

}  // namespace atbprobe

#endif
