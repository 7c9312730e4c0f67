#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace atbprobe {

// Who of us has opened a number last. Zero-initialised, and of no cost where nothing is opened.
class DescriptorOwners {
  public:
    // A mark for the new owner of `number`; all earlier ones are void.
    static uint32_t take(int number) {
        const uint32_t mark = g_marks.fetch_add(1, std::memory_order_relaxed) + 1;
        if (number < kNumbers) g_owners[static_cast<size_t>(number)].store(mark, std::memory_order_relaxed);
        return mark;
    }
    static bool is_owner(int number, uint32_t mark) {
        return number >= kNumbers || g_owners[static_cast<size_t>(number)].load(std::memory_order_relaxed) == mark;
    }

  private:
    static constexpr int kNumbers = 1 << 15;
    static inline std::atomic<uint32_t> g_marks{0};
    static inline std::array<std::atomic<uint32_t>, kNumbers> g_owners{};
};

// Owns an open file descriptor, or none: then the number is negative, and may be an error's.
//
// A host may close descriptors that it did not open (a daemon closes them all), and the numbers then go to other files:
// of the host, or of another thread of ours. So it is noted which file was opened and who has opened the number last.
// Before a number is used that was kept for a while, or over the writing of a large file, `is_ours` tells whether it
// still stands for that file, and a number that does not is never closed.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int number) : number_(number) {
        struct stat status;
        if (number < 0 || fstat(number, &status) != 0) return;
        mark_ = DescriptorOwners::take(number);
        device_ = status.st_dev;
        file_ = status.st_ino;
    }
    FileDescriptor(FileDescriptor&& other) noexcept { take(&other); }
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            close();
            take(&other);
        }
        return *this;
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() { close(); }

    bool is_open() const { return number_ >= 0; }
    int get() const { return number_; }

    // Leaves errno alone.
    bool is_ours() const {
        struct stat status;
        return read_status(&status);
    }

    // As is_ours, and what fstat says.
    bool read_status(struct stat* status) const {
        const int kept_errno = errno;
        const bool same =
            number_ >= 0 && DescriptorOwners::is_owner(number_, mark_) && fstat(number_, status) == 0 && is_of(*status);
        errno = kept_errno;
        return same;
    }

    // Whether it was opened for the file that `status` is of.
    bool is_of(const struct stat& status) const { return status.st_dev == device_ && status.st_ino == file_; }

    // 0 or an errno: network file systems tell of a full disk only now. EBADF if the host has closed it.
    int close() {
        if (number_ < 0) return 0;
        const bool ours = is_ours();
        const int number = std::exchange(number_, -1);
        if (!ours) return EBADF;
        const int kept_errno = errno;
        // After EINTR the file is closed all the same (Linux).
        const int error = ::close(number) != 0 && errno != EINTR ? errno : 0;
        errno = kept_errno;
        return error;
    }

    // Hands over the number without closing it.
    int release() { return std::exchange(number_, -1); }

  private:
    void take(FileDescriptor* other) {
        number_ = std::exchange(other->number_, -1);
        mark_ = other->mark_;
        device_ = other->device_;
        file_ = other->file_;
    }

    int number_ = -1;
    uint32_t mark_ = 0;
    dev_t device_ = 0;
    ino_t file_ = 0;
};

}  // namespace atbprobe
