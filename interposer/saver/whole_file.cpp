#include "whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace atbprobe {
namespace {

// Small enough for progress to show on a slow disk within the time that callers are ready to wait.
constexpr size_t kMaxWrite = size_t{8} << 20U;

constexpr mode_t kFileMode = 0640;

// Unique among threads by the number, among processes that share the folder by the pid. What a dead process with the
// same pid left under the name is taken away by whoever needs it next.
std::string temporary_name() {
    static std::atomic<uint64_t> number{0};
    char name[64];
    std::snprintf(name, sizeof name, ".atbprobe-%ld-%llu.tmp", static_cast<long>(getpid()),
                  static_cast<unsigned long long>(number.fetch_add(1, std::memory_order_relaxed)));
    return name;
}

}  // namespace

int write_fully(int file, iovec* pieces, int count, Progress* progress) {
    while (count > 0) {
        if (pieces->iov_len == 0) {
            ++pieces;
            --count;
            continue;
        }
        ssize_t written;
        if (pieces->iov_len > kMaxWrite) {
            written = write(file, pieces->iov_base, kMaxWrite);
        } else {
            int taken = 0;
            size_t bytes = 0;
            while (taken < count && bytes + pieces[taken].iov_len <= kMaxWrite) bytes += pieces[taken++].iov_len;
            written = writev(file, pieces, taken);
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

WholeFile::WholeFile(int folder) : folder_(folder), temporary_(temporary_name()) {}

WholeFile::~WholeFile() {
    if (is_there_) unlinkat(folder_, temporary_.c_str(), 0);
}

int WholeFile::create() {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int number = openat(folder_, temporary_.c_str(), kFlags, kFileMode);
    if (number < 0 && errno == EEXIST && unlinkat(folder_, temporary_.c_str(), 0) == 0) {
        number = openat(folder_, temporary_.c_str(), kFlags, kFileMode);
    }
    if (number < 0) return errno;
    file_ = FileDescriptor(number);
    is_there_ = true;
    return 0;
}

int WholeFile::link_to(int folder_of_other, const std::string& other) {
    if (linkat(folder_of_other, other.c_str(), folder_, temporary_.c_str(), 0) != 0) return errno;
    is_there_ = true;
    return 0;
}

int WholeFile::put_in_place(const std::string& name) {
    // Network file systems tell of a full disk at close. After EINTR the file is closed all the same (Linux).
    if (file_.is_open() && close(file_.release()) != 0 && errno != EINTR) return errno;
    if (renameat(folder_, temporary_.c_str(), folder_, name.c_str()) != 0) return errno;
    is_there_ = false;
    return 0;
}

int write_whole_file(int folder, const std::string& name, iovec head, iovec body, Progress* progress) {
    WholeFile file(folder);
    int error = file.create();
    iovec pieces[] = {head, body};
    if (error == 0) error = write_fully(file.descriptor(), pieces, 2, progress);
    if (error == 0) error = file.put_in_place(name);
    return error;
}

}  // namespace atbprobe
