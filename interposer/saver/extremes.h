// The farthest from zero that the numbers of a tensor get, for conditions on it.
#pragma once

#include "saver.h"

namespace atbprobe {

struct Extremes {
    bool has_nan = false;
    bool has_infinity = false;
    // Of the largest magnitude, NaN left out; negative if there is none. In long double, whose exponents reach far
    // enough, and whose squares of two different doubles differ.
    long double magnitude_squared = -1;

    bool exceeds(double bound) const {
        return magnitude_squared > static_cast<long double>(bound) * static_cast<long double>(bound);
    }
};

// One pass over a tensor without NaN and infinities, up to three otherwise. Complex numbers go by their magnitude, and
// are NaN if either part is. Of data that cannot be decoded nothing is known: no condition is met.
Extremes find_extremes(const TensorCall& call);

}  // namespace atbprobe
