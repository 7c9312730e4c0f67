// The channel's folder and files: making, checking, mapping, publishing, reading images. Both sides use it: the
// watcher through the C functions, a process through probe_process.
//
// Everything in the folder is taken as hostile until checked: it must be a directory of this user, mode 0700, reached
// without following a link, and its files regular, of this user and of exactly the expected size. Errors are negative
// errno values.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "channel_format.h"
#include "image_file.h"
#include "private_files.h"

namespace atbprobe {

// A mapped control file. A process never unmaps one that it has used: threads may be looking at it. No descriptor is
// kept, since a host may close any and use its number for something else.
struct Channel {
    ControlHeader* control = nullptr;
    ProcessSlot* slots = nullptr;
    dev_t device = 0;  // these two tell the control file from every other one, as long as it is mapped
    ino_t inode = 0;
};

// `<runtime folder>/<hash>`, the hash over the config path as written and the pid namespace.
int channel_folder_of(const char* runtime_folder, const char* config_path, std::string* folder);

// Opens the channel in `folder`, after making what is missing if that is asked for.
int channel_open(const char* folder, IfMissing if_missing, Channel* channel);
void channel_unmap(Channel* channel);

// False once the channel was taken away, or another one is in its place. Whoever takes a channel away moves its folder
// first, and then closes it.
bool channel_is_in_place(const char* folder, const Channel& channel);

int channel_read_image(const char* folder, uint64_t generation, ImageCopy* copy);

// Returns the new generation, or a negative errno. Only one publisher at a time (the watcher's lock sees to it).
int64_t channel_publish(const char* folder, const Channel& channel, const void* image, size_t size);

}  // namespace atbprobe
