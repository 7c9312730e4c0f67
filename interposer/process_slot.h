// Whose slot is whose: claiming one of a channel's process slots, and telling the living from the dead.
#pragma once

#include <cstdint>

#include "channel_format.h"

namespace atbprobe {

// Claims a slot for this process, taking over those whose process is dead. Null if all are taken.
ProcessSlot* claim_slot(ProcessSlot* slots);

// Field 22 of /proc/<pid>/stat: clock ticks from boot to the start of the process. 0 if there is no such process, or
// one that has ended and was not waited for yet.
uint64_t process_start_time(uint32_t pid);

}  // namespace atbprobe
