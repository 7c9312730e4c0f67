#pragma once

#include <cstdint>

#include "program_verifier.h"

namespace atbprobe {

// Says, once in each process, that the rules leave out the device it runs on: otherwise that looks like a probe that
// does not work. Silent while dumping is off or the device is not known (-1).
void say_if_device_is_unselected(const ProgramView& program, int32_t device);

}  // namespace atbprobe
