// The directory that a thread asked about last, and the rules that take it.
//
// The host asks up to three times about one execution of an operation, and between the questions about a kernel, or
// about an operation's end, there is none about another directory: comparing is then all that is left to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atbprobe {

// Plain memory, zero-initialised: part of a thread record. It belongs to one program: forget it with that.
class RememberedDir {
  public:
    bool is(const char* dir, size_t length) const { return length == length_ && memcmp(dir, dir_, length) == 0; }
    uint64_t rules() const { return rules_; }

    // A longer one than fits is not remembered.
    void remember(const char* dir, size_t length, uint64_t rules) {
        forget();
        if (length > sizeof(dir_)) return;
        memcpy(dir_, dir, length);
        length_ = length;
        rules_ = rules;
    }

    // What is left is the empty directory, which no rule takes.
    void forget() {
        length_ = 0;
        rules_ = 0;
    }

  private:
    size_t length_;
    uint64_t rules_;
    char dir_[240];
};

}  // namespace atbprobe
