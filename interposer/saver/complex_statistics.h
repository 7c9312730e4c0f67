// Statistics of complex numbers: the numbers of largest and of smallest magnitude, the mean, and the norm, which is
// that of all parts.
#pragma once

#include "statistics.h"

namespace atbprobe {

// `type` is a complex one.
Statistics complex_statistics(DataType type, const std::byte* data, uint64_t bytes, VectorVersion version);

}  // namespace atbprobe
