#include "image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "file_descriptor.h"
#include "program_format.h"

namespace atbprobe {
namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

int read_whole(int file, void* bytes, size_t size) {
    char* next = static_cast<char*>(bytes);
    while (size != 0) {
        const ssize_t got = read(file, next, size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        if (got == 0) return -EBADMSG;
        next += got;
        size -= static_cast<size_t>(got);
    }
    return 0;
}

__attribute__((format(printf, 1, 2))) ImageFault fault(const char* format, ...) {
    ImageFault result;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result.text, sizeof(result.text), format, arguments);
    va_end(arguments);
    return result;
}

ImageFault distrust(const struct stat& status) {
    if (!S_ISREG(status.st_mode)) return fault("it is not a regular file");
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        return fault("it belongs to user %u, and only a file of user %u or of root is taken",
                     static_cast<unsigned>(status.st_uid), static_cast<unsigned>(geteuid()));
    }
    if ((status.st_mode & kWritableByOthers) != 0) {
        return fault("its mode is %04o: others than its owner may write to it", status.st_mode & 07777U);
    }
    if (status.st_size <= 0) return fault("it is empty");
    if (static_cast<uint64_t>(status.st_size) > kMaxImageBytes) {
        return fault("it has %lld bytes, and no program has more than %llu", static_cast<long long>(status.st_size),
                     static_cast<unsigned long long>(kMaxImageBytes));
    }
    return {};
}

}  // namespace

int read_image(int file, off_t size, ImageCopy* copy) {
    int error = -EBADMSG;
    if (size > 0 && static_cast<uint64_t>(size) <= kMaxImageBytes) {
        copy->size = static_cast<size_t>(size);
        copy->bytes = malloc(copy->size);
        error = copy->bytes == nullptr ? -ENOMEM : read_whole(file, copy->bytes, copy->size);
    }
    if (error != 0) {
        free(copy->bytes);
        *copy = ImageCopy{};
    }
    return error;
}

ImageFault read_image_file(const char* path, ImageCopy* copy) {
    // Without waiting for whoever might write to a pipe, and without taking a terminal.
    const FileDescriptor file(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status = {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) return fault("%s", strerror(errno));
    const ImageFault found = distrust(status);
    if (found.text[0] != '\0') return found;
    const int error = read_image(file.get(), status.st_size, copy);
    if (error == -EBADMSG) return fault("it became shorter while it was read");
    return error == 0 ? ImageFault{} : fault("%s", strerror(-error));
}

}  // namespace atbprobe
