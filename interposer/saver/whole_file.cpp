#include "whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "durability.h"

namespace atbprobe {
namespace {

// Small enough for progress to show on a slow disk within the time that callers are ready to wait.
constexpr size_t kMaxWrite = size_t{8} << 20U;

constexpr mode_t kFileMode = 0640;

// A thread writes one file at a time. What it could not take away when it failed, or a dead process with the same ids
// left, is taken away by whoever needs the name next.
std::string temporary_name() {
    char name[64];
    std::snprintf(name, sizeof name, ".atbprobe-%ld-%ld.tmp", static_cast<long>(getpid()), static_cast<long>(gettid()));
    return name;
}

}  // namespace

int write_fully(const FileDescriptor& file, iovec* pieces, int count, Progress* progress) {
    bool is_checked = true;
    while (count > 0) {
        if (pieces->iov_len == 0) {
            ++pieces;
            --count;
            continue;
        }
        if (!is_checked && !file.is_ours()) return EBADF;
        is_checked = false;
        ssize_t written;
        if (pieces->iov_len > kMaxWrite) {
            written = write(file.get(), pieces->iov_base, kMaxWrite);
        } else {
            int taken = 0;
            size_t bytes = 0;
            while (taken < count && bytes + pieces[taken].iov_len <= kMaxWrite) bytes += pieces[taken++].iov_len;
            written = writev(file.get(), pieces, taken);
        }
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return EIO;
        progress->fetch_add(1, std::memory_order_relaxed);
        auto rest = static_cast<size_t>(written);
        while (rest > 0 && count > 0) {
            const size_t part = std::min(rest, pieces->iov_len);
            pieces->iov_base = static_cast<char*>(pieces->iov_base) + part;
            pieces->iov_len -= part;
            rest -= part;
            if (pieces->iov_len == 0) {
                ++pieces;
                --count;
            }
        }
    }
    return 0;
}

int open_new_file(int folder, const char* name, int flags, mode_t mode) {
    const int new_flags = flags | O_CREAT | O_EXCL | O_NOFOLLOW;
    const int number = openat(folder, name, new_flags, mode);
    if (number >= 0 || errno != EEXIST || unlinkat(folder, name, 0) != 0) return number;
    return openat(folder, name, new_flags, mode);
}

WholeFile::WholeFile(int folder) : folder_(folder), temporary_(temporary_name()) {}

WholeFile::~WholeFile() {
    if (is_there_) unlinkat(folder_, temporary_.c_str(), 0);
}

int WholeFile::create() {
    const int number = open_new_file(folder_, temporary_.c_str(), O_WRONLY | O_CLOEXEC, kFileMode);
    if (number < 0) return errno;
    file_ = FileDescriptor(number);
    is_there_ = true;
    return 0;
}

int WholeFile::link_to(int folder_of_other, const std::string& other) {
    int result = linkat(folder_of_other, other.c_str(), folder_, temporary_.c_str(), 0);
    if (result != 0 && errno == EEXIST && unlinkat(folder_, temporary_.c_str(), 0) == 0) {
        result = linkat(folder_of_other, other.c_str(), folder_, temporary_.c_str(), 0);
    }
    if (result != 0) return errno;
    is_there_ = true;
    return 0;
}

int WholeFile::put_in_place(const std::string& name) {
    int error = file_.is_open() ? make_durable(file_) : 0;
    if (error == 0) error = file_.close();
    if (error != 0) return error;
    if (renameat(folder_, temporary_.c_str(), folder_, name.c_str()) != 0) return errno;
    is_there_ = false;
    return make_names_durable(folder_);
}

int write_whole_file(int folder, const std::string& name, iovec head, iovec body, Progress* progress) {
    WholeFile file(folder);
    int error = file.create();
    iovec pieces[] = {head, body};
    if (error == 0) error = write_fully(file.file(), pieces, 2, progress);
    if (error == 0) error = file.put_in_place(name);
    return error;
}

}  // namespace atbprobe
