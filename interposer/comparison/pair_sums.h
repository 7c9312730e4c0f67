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

// How far elements are apart that are finite on both sides.
struct Differences {
    double product = 0;
    double squared_distance = 0;
    double largest_absolute = 0;
    double largest_relative = 0;
    uint64_t below_1000th = 0;
    uint64_t below_200th = 0;
};

struct PairSums {
    SideSums golden_side;
    SideSums target_side;
    // Of the elements that are finite on both sides.
    Differences differences;
    double golden_squares = 0;
    double target_squares = 0;
    double magnitude = 0;
    uint64_t elements = 0;
    uint64_t mismatches = 0;
    uint64_t differing_blocks = 0;  // that are not the same to the bit, or by value where that is what counts
};

static_assert(sizeof(PairSums) == 160);

}  // namespace atbprobe
