// The processor is asked directly: __builtin_cpu_supports needs a constructor that every process of the shell would run
// at load.
#include "vector_version.h"

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace atbprobe {
namespace {

#if defined(__x86_64__)

// Which registers the operating system saves (Intel SDM vol. 1, 13.3).
constexpr uint32_t kAvxState = 0x6;
constexpr uint32_t kAvx512State = 0xe6;

uint32_t saved_state() {
    uint32_t low;
    uint32_t high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

VectorVersion ask_processor() {
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) return VectorVersion::kBaseline;
    const bool has_f16c = (c & bit_OSXSAVE) != 0 && (c & bit_AVX) != 0 && (c & bit_F16C) != 0;
    if (!has_f16c || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return VectorVersion::kBaseline;
    const uint32_t state = saved_state();
    if ((state & kAvxState) != kAvxState || (b & bit_AVX2) == 0) return VectorVersion::kBaseline;
    constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if ((state & kAvx512State) != kAvx512State || (b & kAvx512) != kAvx512) return VectorVersion::kAvx2;
    return VectorVersion::kAvx512;
}

#else

VectorVersion ask_processor() { return VectorVersion::kBaseline; }

#endif

}  // namespace

VectorVersion best_vector_version() {
    static constexpr int kUnknown = -1;
    static std::atomic<int> best{kUnknown};
    int known = best.load(std::memory_order_relaxed);
    if (known == kUnknown) {
        known = static_cast<int>(ask_processor());
        best.store(known, std::memory_order_relaxed);
    }
    return static_cast<VectorVersion>(known);
}

bool is_supported(VectorVersion version) { return version <= best_vector_version(); }

}  // namespace atbprobe
