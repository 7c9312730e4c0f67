// One loop, which the compiler turns into vectors of different widths; sums of integers it may reorder.
#include "integer_blocks.h"

namespace atbprobe {
namespace {

template <typename Element>
IntegerTotals<typename Element::Value> add_one_by_one(const std::byte* data, size_t count) {
    IntegerTotals<typename Element::Value> totals;
    for (size_t i = 0; i < count; ++i) {
        totals.add(Element::load(data, i));
        // Nothing is known of the totals from one element to the next: they cannot become a vector.
        __asm__ volatile("" : "+m"(totals));
    }
    return totals;
}

template <typename Element>
[[gnu::always_inline]] inline IntegerTotals<typename Element::Value> add_all(const std::byte* data, size_t count) {
    IntegerTotals<typename Element::Value> totals;
    for (size_t i = 0; i < count; ++i) totals.add(Element::load(data, i));
    return totals;
}

template <typename Element>
IntegerTotals<typename Element::Value> add_baseline(const std::byte* data, size_t count) {
    return add_all<Element>(data, count);
}

#if defined(__x86_64__)

template <typename Element>
__attribute__((target("avx2"))) IntegerTotals<typename Element::Value> add_avx2(const std::byte* data, size_t count) {
    return add_all<Element>(data, count);
}

template <typename Element>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) IntegerTotals<typename Element::Value> add_avx512(
    const std::byte* data, size_t count) {
    return add_all<Element>(data, count);
}

#endif

}  // namespace

template <typename Element>
IntegerBlock<Element> integer_block(VectorVersion version) {
    switch (version) {
        case VectorVersion::kScalar:
            return add_one_by_one<Element>;
#if defined(__x86_64__)
        case VectorVersion::kAvx2:
            return add_avx2<Element>;
        case VectorVersion::kAvx512:
            return add_avx512<Element>;
#endif
        default:
            return add_baseline<Element>;
    }
}

template IntegerBlock<PlainElement<int8_t>> integer_block<PlainElement<int8_t>>(VectorVersion version);
template IntegerBlock<PlainElement<int16_t>> integer_block<PlainElement<int16_t>>(VectorVersion version);
template IntegerBlock<PlainElement<int32_t>> integer_block<PlainElement<int32_t>>(VectorVersion version);
template IntegerBlock<PlainElement<int64_t>> integer_block<PlainElement<int64_t>>(VectorVersion version);
template IntegerBlock<PlainElement<uint8_t>> integer_block<PlainElement<uint8_t>>(VectorVersion version);
template IntegerBlock<PlainElement<uint16_t>> integer_block<PlainElement<uint16_t>>(VectorVersion version);
template IntegerBlock<PlainElement<uint32_t>> integer_block<PlainElement<uint32_t>>(VectorVersion version);
template IntegerBlock<PlainElement<uint64_t>> integer_block<PlainElement<uint64_t>>(VectorVersion version);
template IntegerBlock<BoolElement> integer_block<BoolElement>(VectorVersion version);

}  // namespace atbprobe
