// Files that are there whole or not at all: written under a hidden temporary name in the same folder, then renamed
// over whatever has the final name. Whatever dies in between leaves at most the hidden file.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace atbprobe {

// Counts pieces of work done, so that somebody who waits can tell a slow disk from a dead one.
using Progress = std::atomic<uint64_t>;

// Writes `head`, then `body`, to `name` in the folder open as `folder`. Returns 0 or the errno of what failed.
int write_whole_file(int folder, const std::string& name, iovec head, iovec body, Progress* progress);

// Writes all of `pieces`, which it changes. Returns 0 or an errno.
int write_fully(int file, iovec* pieces, int count, Progress* progress);

}  // namespace atbprobe
