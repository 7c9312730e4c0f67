#include "private_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace atbprobe {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

bool is_private(const struct stat& status) { return status.st_uid == geteuid() && (status.st_mode & 077) == 0; }

}  // namespace

int open_private_folder(int parent, const char* name, IfMissing if_missing) {
    if (if_missing == IfMissing::kCreate && mkdirat(parent, name, kFolderMode) != 0 && errno != EEXIST) return -errno;
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return -errno;
    struct stat status = {};
    const int error = fstat(folder, &status) != 0 ? -errno : is_private(status) ? 0 : -EPERM;
    if (error == 0) return folder;
    close(folder);
    return error;
}

int open_channel_folder(const char* folder, IfMissing if_missing) {
    const char* slash = strrchr(folder, '/');
    if (slash == nullptr || slash == folder || slash[1] == '\0') return -EINVAL;
    const std::string parent(folder, static_cast<size_t>(slash - folder));
    const int parent_folder = open_private_folder(AT_FDCWD, parent.c_str(), if_missing);
    if (parent_folder < 0) return parent_folder;
    const int channel_folder = open_private_folder(parent_folder, slash + 1, if_missing);
    close(parent_folder);
    return channel_folder;
}

int open_private_file(int folder, const char* name, int flags, struct stat* status) {
    const int file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return -errno;
    int error = 0;
    if (fstat(file, status) != 0) {
        error = -errno;
    } else if (!S_ISREG(status->st_mode) || !is_private(*status)) {
        error = -EPERM;
    }
    if (error == 0) return file;
    close(file);
    return error;
}

int create_private_file(int folder, const char* name) {
    const int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
    return file < 0 ? -errno : file;
}

int write_whole(int file, const void* bytes, size_t size) {
    const char* next = static_cast<const char*>(bytes);
    while (size != 0) {
        const ssize_t written = write(file, next, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -errno;
        next += written;
        size -= static_cast<size_t>(written);
    }
    return 0;
}

}  // namespace atbprobe
