// Which rounds a thread was asked about under one program: from it one can tell a rule that will not select anything
// from one whose time has not come.
#pragma once

#include <cstdint>

namespace atbprobe {

// Plain memory, part of a thread record; to be begun with every new program.
struct RoundsSeen {
    uint64_t count;   // how often the highest one has grown, about once for each step of a model
    uint64_t lowest;  // operations that run seldom stay behind the others
    uint64_t highest;
    uint64_t rules;  // that were in force in all of them

    void begin() { *this = {0, UINT64_MAX, 0, UINT64_MAX}; }

    // True if no round as high was seen before.
    bool add(uint64_t round, uint64_t rules_in_round) {
        rules &= rules_in_round;
        if (round < lowest) lowest = round;
        if (count != 0 && round <= highest) return false;
        highest = round;
        ++count;
        return true;
    }
};

}  // namespace atbprobe
