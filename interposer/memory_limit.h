// How much memory this process may use: what its control group (version 1 or 2) or any group above allows, and never
// more than the machine has.
#pragma once

#include <cstdint>

namespace atbprobe {

// Bytes; 0 if nothing could be found out.
uint64_t memory_limit();

}  // namespace atbprobe
