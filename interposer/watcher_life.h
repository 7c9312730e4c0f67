// Whether the watcher of this process's channel is still there: if it is not, no edit is seen any more, and the user
// must hear of it where the model's messages go.
#pragma once

#include "channel_format.h"

namespace atbprobe {

// From now on it is the watcher of this channel, which stays mapped for good.
void watch_life_of_watcher(const ControlHeader& control);

// To be called now and then, outside of every lock: looks at most once a second, and says once that a watcher is gone.
// One that was never there is none that could be gone.
void look_after_watcher();

// A forked child is another process: it looks and says so itself.
void watcher_life_after_fork_in_child();

}  // namespace atbprobe
