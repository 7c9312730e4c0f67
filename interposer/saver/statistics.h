// Maximum, minimum, mean and norm of a tensor's bytes, in one pass (a second one only for doubles near the ends of
// their range).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor_type.h"
#include "vector_version.h"

namespace atbprobe {

struct Statistics {
    // False for an empty tensor and for data that cannot be decoded: there is nothing to say.
    bool known = false;
    // Maximum, minimum and mean have an imaginary part too.
    bool is_complex = false;
    // Maximum and minimum are values of `float`, and to be printed as such.
    bool single_precision = false;
    double max = 0;
    double min = 0;
    double mean = 0;  // sum / n
    double norm = 0;  // square root of the sum of squares
    double max_imaginary = 0;
    double min_imaginary = 0;
    double mean_imaginary = 0;
};

struct TensorData {
    DataType type;
    const std::byte* data;  // needs no alignment
    uint64_t bytes;
    // What the shape says; only types of fewer than eight bits need it, since with `bytes` it tells how they are
    // packed.
    std::optional<uint64_t> elements;
};

// Reads the whole elements within `bytes`, never more. One NaN makes all four NaN; infinities go their way as in numpy.
// The sum of integers is exact; all others are good to double precision.
Statistics compute_statistics(const TensorData& tensor);

// The same by a version that is supported here; all of them give the same, to the bit.
Statistics compute_statistics(const TensorData& tensor, VectorVersion version);

}  // namespace atbprobe
