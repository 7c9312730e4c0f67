// The numbers of a tensor that are none: NaN and infinities, counted, and where the first one is.
#pragma once

#include <cstdint>

#include "statistics.h"

namespace atbprobe {

struct Anomalies {
    uint64_t nan = 0;
    uint64_t positive_infinity = 0;
    uint64_t negative_infinity = 0;
    uint64_t first = 0;  // position of the first of any kind, in elements

    bool any() const { return nan + positive_infinity + negative_infinity != 0; }
};

// Reads the tensor only if `statistics`, which are those of the tensor, tell that there can be one: for tensors
// without, it costs nothing. A complex number is NaN if either part is, otherwise it is infinite by its real part or,
// where that is finite, by its imaginary part.
Anomalies find_anomalies(const TensorData& tensor, const Statistics& statistics);

}  // namespace atbprobe
