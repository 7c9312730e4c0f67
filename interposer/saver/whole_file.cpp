#include "whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "file_descriptor.h"

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

int create(int folder, const std::string& name, FileDescriptor* file) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int number = openat(folder, name.c_str(), kFlags, kFileMode);
    if (number < 0 && errno == EEXIST && unlinkat(folder, name.c_str(), 0) == 0) {
        number = openat(folder, name.c_str(), kFlags, kFileMode);
    }
    *file = FileDescriptor(number);
    return number < 0 ? errno : 0;
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

int write_whole_file(int folder, const std::string& name, iovec head, iovec body, Progress* progress) {
    const std::string temporary = temporary_name();
    FileDescriptor file;
    int error = create(folder, temporary, &file);
    if (error != 0) return error;
    iovec pieces[] = {head, body};
    error = write_fully(file.get(), pieces, 2, progress);
    // Network file systems tell of a full disk at close. After EINTR the file is closed all the same (Linux).
    if (close(file.release()) != 0 && error == 0 && errno != EINTR) error = errno;
    if (error == 0 && renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) error = errno;
    if (error != 0) unlinkat(folder, temporary.c_str(), 0);
    return error;
}

}  // namespace atbprobe
