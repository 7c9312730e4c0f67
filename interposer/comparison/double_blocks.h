// Loops over blocks of doubles, in the version that the machine runs fastest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pair_sums.h"
#include "saver/vector_version.h"

namespace atbprobe {

// How far two blocks are apart, all of whose numbers are finite. `epsilon` stands for a golden value of 0 in a relative
// error.
using DifferenceBlock = Differences (*)(const double* golden, const double* target, size_t count, double epsilon);

DifferenceBlock difference_block(VectorVersion version);

// Of one block. NaN in it make the squares NaN, and the others anything.
using SideBlock = SideSums (*)(const double* values, size_t count);

SideBlock side_block(VectorVersion version);

// Elements of a data type as doubles.
using ConvertBlock = void (*)(const std::byte* data, size_t count, double* values);

// Element is one of saver/element_types.h.
template <typename Element>
ConvertBlock convert_block(VectorVersion version);

}  // namespace atbprobe
