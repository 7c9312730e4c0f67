// Files that are there whole or not at all: written under a hidden temporary name in the same folder, then renamed
// over whatever has the final name. Whatever dies in between leaves at most the hidden file. EBADF means that the host
// has closed a descriptor meanwhile: the file can be written again from the start.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "file_descriptor.h"

namespace atbprobe {

// Counts pieces of work done, so that somebody who waits can tell a slow disk from a dead one.
using Progress = std::atomic<uint64_t>;

// Makes and opens a file that only this thread uses, in the folder open as `folder`; what a dead process with the same
// ids has left under its name is taken away first. Negative, with errno, if it cannot be had.
int open_new_file(int folder, const char* name, int flags, mode_t mode);

// A file on its way to its final name. All functions return 0 or the errno of what failed.
class WholeFile {
  public:
    // In the folder open as `folder`, which stays open until the end.
    explicit WholeFile(int folder);
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    int create();
    // In place of `create`, without copying: as another name of a file that is there.
    int link_to(int folder_of_other, const std::string& other);

    const FileDescriptor& file() const { return file_; }

    int put_in_place(const std::string& name);

  private:
    int folder_;
    std::string temporary_;
    bool is_there_ = false;
    FileDescriptor file_;
};

// Writes `head`, then `body`, to `name` in the folder open as `folder`. Returns 0 or the errno of what failed.
int write_whole_file(int folder, const std::string& name, iovec head, iovec body, Progress* progress);

// Writes all of `pieces`, which it changes. `file` must just have been opened, or found to be ours. Returns 0 or an
// errno.
int write_fully(const FileDescriptor& file, iovec* pieces, int count, Progress* progress);

}  // namespace atbprobe
