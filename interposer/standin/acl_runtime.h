// The two calls of the Ascend runtime that a host of the probe needs: which device the calling thread works
// on.
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the runtime's names
extern "C" {
__attribute__((visibility("default"))) int aclrtSetDevice(int32_t device);
__attribute__((visibility("default"))) int aclrtGetDevice(int32_t* device);
}
// NOLINTEND(readability-identifier-naming)
