// Maximum, minimum, mean and norm of a tensor's bytes, in one pass (a second one only for doubles near the ends of
// their range).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor_type.h"

namespace atbprobe {

struct Statistics {
    // False for an empty tensor and for types that cannot be decoded: there is nothing to say.
    bool known = false;
    // Maximum and minimum are values of `float`, and to be printed as such.
    bool single_precision = false;
    double max = 0;
    double min = 0;
    double mean = 0;  // sum / n
    double norm = 0;  // square root of the sum of squares
};

// Reads the whole elements within `bytes`, never more; `data` needs no alignment. One NaN makes all four NaN;
// infinities go their way as in numpy. The sum of integers is exact; all others are good to double precision.
Statistics compute_statistics(DataType type, const std::byte* data, uint64_t bytes);

}  // namespace atbprobe
