// The channel's folder and files: making, checking, mapping, publishing, reading images. Both sides use it: the
// watcher through the C functions, a process through probe_process.
//
// Everything in the folder is taken as hostile until checked: it must be a directory of this user, mode 0700, reached
// without following a link, and its files regular, of this user and of exactly the expected size. Errors are negative
// errno values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "channel_format.h"

namespace atbprobe {

// A mapped control file. Never unmapped while a process lives: threads may be looking at it. No descriptor is kept
// open: hosts close all that they do not know, and open files of their own under the same numbers.
struct Channel {
    char* folder = nullptr;  // path, malloc'ed
    ControlHeader* control = nullptr;
    ProcessSlot* slots = nullptr;
};

// `<runtime folder>/<hash>`, the hash over the config path as written and the pid namespace.
int channel_folder_of(const char* runtime_folder, const char* config_path, std::string* folder);

enum class IfMissing { kCreate, kFail };

// Opens the channel in `folder`, after making what is missing if that is asked for.
int channel_open(const char* folder, IfMissing if_missing, Channel* channel);
void channel_unmap(Channel* channel);

// A private copy of an image file. `bytes` is malloc'ed and the caller's.
struct ImageCopy {
    void* bytes = nullptr;
    size_t size = 0;
};
int channel_read_image(const Channel& channel, uint64_t generation, ImageCopy* copy);

// Returns the new generation, or a negative errno. Only one publisher at a time (the watcher's lock sees to it).
int64_t channel_publish(const Channel& channel, const void* image, size_t size);

// Claims a slot for this process, taking over those whose process is dead. Null if all are taken.
ProcessSlot* channel_claim_slot(const Channel& channel);

// Field 22 of /proc/<pid>/stat: clock ticks from boot to the start of the process. 0 if there is no such process, or
// one that has ended and was not waited for yet.
uint64_t process_start_time(uint32_t pid);

}  // namespace atbprobe
