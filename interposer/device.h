#pragma once

#include <cstdint>

namespace atbprobe {

// The calling thread's device, asked of the runtime that the host has loaded; -1 if there is none, or none is set.
int32_t current_device();

}  // namespace atbprobe
