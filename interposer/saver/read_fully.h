#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace atbprobe {

// Reads as many of `bytes` as there are into `room`, and says in `done` how many. 0 or an errno.
inline int read_fully(int file, void* room, size_t bytes, off_t offset, size_t* done) {
    for (*done = 0; *done < bytes;) {
        const ssize_t got =
            pread(file, static_cast<char*>(room) + *done, bytes - *done, offset + static_cast<off_t>(*done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        *done += static_cast<size_t>(got);
    }
    return 0;
}

}  // namespace atbprobe
