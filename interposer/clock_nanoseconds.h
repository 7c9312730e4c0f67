// The time of one of the system's clocks as one number.
#pragma once

#include <cstdint>
#include <ctime>

namespace atbprobe {

inline constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

inline uint64_t clock_nanoseconds(clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace atbprobe
