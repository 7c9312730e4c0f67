// One pass over two tensors of one type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pair_sums.h"

namespace atbprobe {

struct ElementForm {
    uint32_t dtype;        // the host's number; any for elements that a table has
    uint16_t is_by_value;  // elements are the same if their values are, whatever their bytes
    uint16_t packed_bits;  // of an element that shares its byte with others, the first in the lowest bits; else 0
    const double* table;   // the values of the 256 bytes that an element can be; null for plain types
    double epsilon;        // stands for a golden value of 0 in a relative error
};

static_assert(sizeof(ElementForm) == 24);

// Bits of an element; 0 for a type that is not computed here.
size_t element_bits(const ElementForm& form);

// Adds `count` elements of either side, of a type that has bits here. They need no alignment. Complex numbers count as
// two real ones.
void add_pair(const ElementForm& form, const std::byte* golden, const std::byte* target, uint64_t count,
              PairSums* sums);

}  // namespace atbprobe
