// Blocks stay in the first cache. One that is the same to the bit on both sides costs the sums of one side; one that
// turns out to hold NaN or infinities is done once more without them.
#include "pair_loop.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "double_blocks.h"
#include "saver/element_types.h"
#include "saver/float_blocks.h"
#include "saver/tensor_type.h"

namespace atbprobe {
namespace {

constexpr size_t kBlock = 2048;

double larger(double one, double other) { return other > one || std::isnan(other) ? other : one; }

// Of a type of up to 32 bits.
template <typename Element>
SideSums side_sums(const std::byte* data, size_t count) {
    FloatLanes<typename Element::Value> lanes;
    float_block<Element>(best_vector_version())(data, count, &lanes);
    SideSums side;
    for (size_t lane = 0; lane < kLanes; ++lane) {
        side.largest = larger(side.largest, static_cast<double>(lanes.max[lane]));  // no lane is NaN
        side.smallest = -larger(-side.smallest, -static_cast<double>(lanes.min[lane]));
        side.sum += lanes.sum[lane];
        side.squares += lanes.squares[lane];
    }
    return side;
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

void add_to(SideSums* sums, SideSums block) {
    if (std::isnan(block.squares)) block.largest = block.smallest = block.sum = block.squares;
    sums->largest = larger(sums->largest, block.largest);
    sums->smallest = -larger(-sums->smallest, -block.smallest);
    sums->sum += block.sum;
    sums->squares += block.squares;
}

// How the elements of one type are read, each of which is of one or two real `parts`. The sums of one side of the types
// that models compute in need no doubles.
struct ElementLoops {
    size_t bits;  // of a part
    size_t parts;
    ConvertBlock convert;
    SideSums (*side)(const std::byte* data, size_t count);  // null: of the doubles
};

template <typename Element>
ElementLoops loops_of(size_t parts = 1) {
    ElementLoops loops{Element::kSize * 8, parts, convert_block<Element>(best_vector_version()), nullptr};
    if constexpr (std::is_same_v<typename Element::Value, float>) loops.side = side_sums<Element>;
    return loops;
}

ElementLoops loops_of_type(uint32_t dtype) {
    switch (static_cast<DataType>(dtype)) {
        case DataType::kFloat:
            return loops_of<PlainElement<float>>();
        case DataType::kFloat16:
            return loops_of<Float16Element>();
        case DataType::kBfloat16:
            return loops_of<Bfloat16Element>();
        case DataType::kDouble:
            return loops_of<PlainElement<double>>();
        case DataType::kInt8:
            return loops_of<PlainElement<int8_t>>();
        case DataType::kUint8:
            return loops_of<PlainElement<uint8_t>>();
        case DataType::kInt16:
            return loops_of<PlainElement<int16_t>>();
        case DataType::kUint16:
            return loops_of<PlainElement<uint16_t>>();
        case DataType::kInt32:
            return loops_of<PlainElement<int32_t>>();
        case DataType::kUint32:
            return loops_of<PlainElement<uint32_t>>();
        case DataType::kInt64:
            return loops_of<PlainElement<int64_t>>();
        case DataType::kUint64:
            return loops_of<PlainElement<uint64_t>>();
        case DataType::kBool:
            return loops_of<BoolElement>();
        case DataType::kComplex32:
            return loops_of<Float16Element>(2);
        case DataType::kComplex64:
            return loops_of<PlainElement<float>>(2);
        case DataType::kComplex128:
            return loops_of<PlainElement<double>>(2);
        default:
            return {};
    }
}

ElementLoops loops_of(const ElementForm& form) {
    if (form.table == nullptr) return loops_of_type(form.dtype);
    const size_t bits = form.packed_bits != 0 ? form.packed_bits : 8;
    return {bits, 1, nullptr, nullptr};
}

class PairLoop {
  public:
    PairLoop(const ElementForm& form, PairSums* sums)
        : form_(form),
          loops_(loops_of(form)),
          side_(side_block(best_vector_version())),
          difference_(difference_block(best_vector_version())),
          sums_(sums) {}

    // A block begins at a whole byte, however many elements are packed in one.
    void add(const std::byte* golden, const std::byte* target, uint64_t elements) {
        const uint64_t count = elements * loops_.parts;
        for (uint64_t done = 0; done < count; done += kBlock) {
            const uint64_t left = count - done;
            const size_t block = left < kBlock ? static_cast<size_t>(left) : kBlock;
            const uint64_t offset = done * loops_.bits / 8;
            add_block(golden + offset, target + offset, block);
        }
    }

  private:
    void add_block(const std::byte* golden, const std::byte* target, size_t count) {
        bool is_same = std::memcmp(golden, target, (count * loops_.bits + 7) / 8) == 0;
        if (!is_same || loops_.side == nullptr) convert(golden, count, golden_);
        if (!is_same) convert(target, count, target_);
        if (!is_same && form_.is_by_value != 0) is_same = std::memcmp(golden_, target_, count * sizeof(double)) == 0;
        const SideSums side = side_sums_of(golden, golden_, count);
        const SideSums other = is_same ? side : side_sums_of(target, target_, count);
        add_to(&sums_->golden_side, side);
        add_to(&sums_->target_side, other);
        if (!std::isfinite(side.squares + other.squares)) {
            if (is_same) convert(golden, count, golden_);
            add_finite(is_same, count);
        } else if (is_same) {
            add_same(side, count);
        } else {
            add_different(side, other, count, 0);
        }
    }

    void convert(const std::byte* data, size_t count, double* values) const {
        if (form_.table == nullptr) {
            loops_.convert(data, count, values);
        } else if (form_.packed_bits != 0) {
            unpack(data, count, values);
        } else {
            for (size_t i = 0; i < count; ++i) values[i] = form_.table[static_cast<uint8_t>(data[i])];
        }
    }

    void unpack(const std::byte* data, size_t count, double* values) const {
        const size_t bits = form_.packed_bits;
        const unsigned mask = (1U << bits) - 1;
        for (size_t i = 0; i < count; ++i) {
            const auto byte = static_cast<unsigned>(data[i * bits / 8]);
            values[i] = form_.table[byte >> (i * bits % 8) & mask];
        }
    }

    SideSums side_sums_of(const std::byte* data, const double* values, size_t count) const {
        return loops_.side != nullptr ? loops_.side(data, count) : side_(values, count);
    }

    // Those of the block's elements that are finite on both sides.
    void add_finite(bool is_same, size_t count) {
        const uint64_t mismatches = take_out_the_infinite(golden_, is_same ? golden_ : target_, count);
        const SideSums side = side_(golden_, count);
        if (is_same) {
            add_same(side, count);
        } else {
            add_different(side, side_(target_, count), count, mismatches);
        }
    }

    void add_same(const SideSums& side, size_t count) {
        Differences none;
        none.product = side.squares;
        none.below_1000th = none.below_200th = count;
        add(side, side, none, count, 0);
    }

    void add_different(const SideSums& golden, const SideSums& target, size_t count, uint64_t mismatches) {
        ++sums_->differing_blocks;
        add(golden, target, difference_(golden_, target_, count, form_.epsilon), count, mismatches);
    }

    void add(const SideSums& golden, const SideSums& target, const Differences& found, size_t count,
             uint64_t mismatches) {
        Differences& sums = sums_->differences;
        sums.product += found.product;
        sums.squared_distance += found.squared_distance;
        sums.largest_absolute = larger(sums.largest_absolute, found.largest_absolute);
        sums.largest_relative = larger(sums.largest_relative, found.largest_relative);
        sums.below_1000th += found.below_1000th - mismatches;
        sums.below_200th += found.below_200th - mismatches;
        sums_->golden_squares += golden.squares;
        sums_->target_squares += target.squares;
        sums_->magnitude = larger(larger(sums_->magnitude, golden.largest), -golden.smallest);
        sums_->elements += count;
        sums_->mismatches += mismatches;
    }

    ElementForm form_;
    ElementLoops loops_;
    SideBlock side_;
    DifferenceBlock difference_;
    PairSums* sums_;
    alignas(64) double golden_[kBlock];
    alignas(64) double target_[kBlock];
};

}  // namespace

size_t element_bits(const ElementForm& form) {
    const ElementLoops loops = loops_of(form);
    return loops.bits * loops.parts;
}

void add_pair(const ElementForm& form, const std::byte* golden, const std::byte* target, uint64_t count,
              PairSums* sums) {
    PairLoop(form, sums).add(golden, target, count);
}

}  // namespace atbprobe
