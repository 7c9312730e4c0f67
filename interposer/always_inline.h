// For what every operation of the host goes through, and a call would cost as much as the work.
#pragma once

#define ATBPROBE_INLINE inline __attribute__((always_inline))
