// The versions in which hot loops are compiled, and which of them this machine can run.
#pragma once

#include <array>

namespace atbprobe {

enum class VectorVersion {
    kScalar,    // element by element: what the others are tested against
    kBaseline,  // what every machine of this architecture has
    kAvx2,
    kAvx512,
};

inline constexpr std::array kVectorVersions = {VectorVersion::kScalar, VectorVersion::kBaseline, VectorVersion::kAvx2,
                                               VectorVersion::kAvx512};

bool is_supported(VectorVersion version);

// The fastest supported one. Found out at the first call: nothing is done when the library is loaded.
VectorVersion best_vector_version();

}  // namespace atbprobe
