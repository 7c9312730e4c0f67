// Sums, extremes and counts over two tensors of one type, for the comparison of dumps.
//
// engine/atbprobe_rules/compare/pair_sums.py has the same structs, and says what each field means.
#pragma once

#include <cstdint>
#include <limits>

namespace atbprobe {

struct SideSums {  // of all elements; NaN as soon as one is
    double largest = -std::numeric_limits<double>::infinity();
    double smallest = std::numeric_limits<double>::infinity();
    double sum = 0;
    double squares = 0;
};

struct PairSums {
    SideSums golden_side;
    SideSums target_side;
    // Of the elements that are finite on both sides.
    double golden_squares;
    double target_squares;
    double product;
    double squared_distance;
    double largest_absolute;
    double largest_relative;
    double magnitude;
    uint64_t elements;
    uint64_t mismatches;
    uint64_t below_1000th;
    uint64_t below_200th;
    uint64_t differing_blocks;  // that are not the same to the bit, or by value where that is what counts
};

static_assert(sizeof(PairSums) == 160);

}  // namespace atbprobe
