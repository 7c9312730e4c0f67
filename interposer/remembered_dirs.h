// The directories that a thread asked about on its way to the last one, and the rules that take them.
//
// The host asks up to three times about one execution of an operation: before its children, and twice after them. So
// the directories that will be asked about again are those above the last one, each a prefix of the next: one buffer
// holds them all, and each is scanned once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atbprobe {

// Plain memory, zero-initialised: part of a thread record. It belongs to one program: forget it with that.
class RememberedDirs {
  public:
    // Forgets what is not on the way to `dir`, and tells whether the rules of `dir` itself are known.
    bool find(const char* dir, size_t length, uint64_t* rules) {
        while (count_ != 0 && !is_prefix(dirs_[count_ - 1].length, dir, length)) --count_;
        if (count_ == 0 || dirs_[count_ - 1].length != length) return false;
        *rules = dirs_[count_ - 1].rules;
        return true;
    }

    // To be called after `find` has failed. What has no room is not remembered.
    void remember(const char* dir, size_t length, uint64_t rules) {
        if (count_ == kMostDirs || length > sizeof(text_)) return;
        const size_t known = count_ == 0 ? 0 : dirs_[count_ - 1].length;
        memcpy(text_ + known, dir + known, length - known);
        dirs_[count_++] = {length, rules};
    }

    void forget() { count_ = 0; }

  private:
    static constexpr size_t kMostDirs = 8;

    struct Dir {
        size_t length;
        uint64_t rules;
    };

    bool is_prefix(size_t prefix, const char* dir, size_t length) const {
        return prefix <= length && memcmp(text_, dir, prefix) == 0;
    }

    size_t count_;
    Dir dirs_[kMostDirs];
    char text_[256];
};

}  // namespace atbprobe
