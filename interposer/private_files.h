// Folders and files that are ours alone: of this user, closed to everybody else, and reached without following a link
// at their last step. Whatever else bears the name is refused. Errors are negative errno values.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>

namespace atbprobe {

enum class IfMissing { kCreate, kFail };

// Opens a private folder below `parent` (AT_FDCWD: `name` is a path), after making it if that is asked for. Returns the
// descriptor.
int open_private_folder(int parent, const char* name, IfMissing if_missing);

// Opens a channel's folder, an absolute path. The folder that holds it must be private, too.
int open_channel_folder(const char* folder, IfMissing if_missing);

// Opens a regular file in `folder` that nobody else may touch. Returns the descriptor; what it is, is in `status`.
int open_private_file(int folder, const char* name, int flags, struct stat* status);

// Makes a file for reading and writing that was not there before. Returns the descriptor.
int create_private_file(int folder, const char* name);

int write_whole(int file, const void* bytes, size_t size);

}  // namespace atbprobe
