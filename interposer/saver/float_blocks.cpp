#include "float_blocks.h"

#include <type_traits>

namespace atbprobe {
namespace {

template <typename Element>
void add_one_by_one(const std::byte* data, size_t count, FloatLanes<typename Element::Value>* lanes) {
    for (size_t i = 0; i < count; ++i) lanes->add(i % kLanes, Element::load(data, i));
}

// The copy of the lanes is nobody else's, so that the compiler can keep it in registers.
template <typename Element>
void add_in_lanes(const std::byte* data, size_t count, FloatLanes<typename Element::Value>* lanes) {
    FloatLanes<typename Element::Value> own = *lanes;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) own.add(lane, Element::load(data, i + lane));
    }
    for (size_t lane = 0; i < count; ++i, ++lane) own.add(lane, Element::load(data, i));
    *lanes = own;
}

}  // namespace

template <typename Element>
FloatBlock<Element> float_block(VectorVersion version) {
    if (version == VectorVersion::kScalar) return add_one_by_one<Element>;
#if defined(__x86_64__)
    if constexpr (std::is_same_v<typename Element::Value, float>) {
        if (version == VectorVersion::kAvx512) return float_block_avx512<Element>();
        if (version == VectorVersion::kAvx2) return float_block_avx2<Element>();
    }
#endif
    return add_in_lanes<Element>;
}

template FloatBlock<Float16Element> float_block<Float16Element>(VectorVersion version);
template FloatBlock<Bfloat16Element> float_block<Bfloat16Element>(VectorVersion version);
template FloatBlock<PlainElement<float>> float_block<PlainElement<float>>(VectorVersion version);
template FloatBlock<PlainElement<double>> float_block<PlainElement<double>>(VectorVersion version);

}  // namespace atbprobe
