#pragma once

#include <unistd.h>

#include <utility>

namespace atbprobe {

// Owns an open file descriptor, or none: then the number is negative, and may be an error's.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int number) : number_(number) {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() { reset(); }

    bool is_open() const { return number_ >= 0; }
    int get() const { return number_; }

    void reset() {
        if (number_ >= 0) close(number_);
        number_ = -1;
    }

    // Hands over the number without closing it.
    int release() { return std::exchange(number_, -1); }

  private:
    int number_ = -1;
};

}  // namespace atbprobe
