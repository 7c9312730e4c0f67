// Reading program images into private memory: those of a channel, and the one that ATBPROBE_IMAGE names.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace atbprobe {

// A private copy of an image file. `bytes` is malloc'ed and the caller's.
struct ImageCopy {
    void* bytes = nullptr;
    size_t size = 0;
};

// Reads an open file of `size` bytes to its end. Returns 0 or a negative errno, -EBADMSG for a size that no image has.
int read_image(int file, off_t size, ImageCopy* copy);

// Why the file of ATBPROBE_IMAGE is not taken, in words; empty if it is.
struct ImageFault {
    char text[160] = "";
};

// Reads the file at `path`, links followed, as with config files. It must be a regular file of this user or of root
// that nobody else may write to. What it holds is not looked at.
ImageFault read_image_file(const char* path, ImageCopy* copy);

}  // namespace atbprobe
