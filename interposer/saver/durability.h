// With ATBPROBE_FSYNC=1: waits until something is on the disk and not only in the memory of the operating system. All
// functions do nothing without, and return 0 or an errno.
#pragma once

#include "file_descriptor.h"

namespace atbprobe {

int make_durable(const FileDescriptor& file);

// What names the open folder has. Not every file system can say that of a folder, which is no error.
int make_names_durable(int folder);

}  // namespace atbprobe
