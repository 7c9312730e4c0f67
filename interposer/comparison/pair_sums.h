// Sums, extremes and counts over two tensors of one type, for the comparison of dumps.
//
// A library of its own, which Python opens and no model ever loads. engine/atbprobe_rules/compare/pair_sums.py has the
// same struct, and says what each field means.
#pragma once

#include <cstdint>

namespace atbprobe {

struct SideSums {  // of all elements; NaN as soon as one is
    double largest;
    double smallest;
    double sum;
    double squares;
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
    uint64_t differing_blocks;  // that are not the same to the bit
};

static_assert(sizeof(PairSums) == 160);

}  // namespace atbprobe

// Adds `count` elements of either side, of the host's dtype number. `epsilon` stands for a golden value of 0 in a
// relative error. False, with nothing added, for a dtype that is not computed here. The data need no alignment.
extern "C" __attribute__((visibility("default"))) bool atbprobe_add_pair(uint32_t dtype, const void* golden,
                                                                         const void* target, uint64_t count,
                                                                         double epsilon, atbprobe::PairSums* sums);
