#include "durability.h"

#include <unistd.h>

#include <cerrno>

#include "environment.h"

namespace atbprobe {
namespace {

int sync_fully(int descriptor) {
    while (fsync(descriptor) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

}  // namespace

int make_durable(const FileDescriptor& file) {
    if (!environment_fsync()) return 0;
    return file.is_ours() ? sync_fully(file.get()) : EBADF;
}

int make_names_durable(int folder) {
    if (!environment_fsync()) return 0;
    const int error = sync_fully(folder);
    return error == EINVAL ? 0 : error;
}

}  // namespace atbprobe
