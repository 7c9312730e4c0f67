// The directory that a thread asked about last and those above it, each with what reading it had led to.
//
// The host asks up to three times about one execution of an operation: before its children, and twice after them. So
// the directories that will be asked about again are those above the last one, each a prefix of the next, and one
// buffer holds them all. A directory that was not met yet is mostly the child of one of them: of it, only what is new
// is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "program_evaluator.h"

namespace atbprobe {

// Plain memory, zero-initialised: part of a thread record. It belongs to one program: forget it with that.
class RememberedDirs {
  public:
    // The rules that take the op of `dir`, if it is the directory that was asked about last or one above it.
    bool find(const char* dir, size_t length, uint64_t* rules) {
        while (count_ != 0 && last().length > length) --count_;
        if (count_ == 0 || last().length != length || memcmp(text_, dir, length) != 0) return false;
        *rules = last().rules;
        return true;
    }

    // The same for a directory that `find` has just not found. What has no room is not remembered.
    uint64_t read(const ProgramView& program, const char* dir, size_t length);

    // The rules of the directory that was read last are these, and no more.
    void narrow(size_t length, uint64_t rules) {
        if (count_ != 0 && last().length == length) states_[count_ - 1].rules = rules;
    }

    void forget() { count_ = 0; }

  private:
    static constexpr size_t kMostStates = 10;  // the root, which is no operation, and nine components
    static constexpr size_t kMostText = 256;

    const DirState& last() const { return states_[count_ - 1]; }
    void forget_all_but_those_above(const char* dir, size_t length);
    bool read_first(const ProgramView& program, const char* dir, size_t length);
    uint64_t read_from_root(const ProgramView& program, const char* dir, size_t length);

    size_t count_;
    char text_[kMostText];
    DirState states_[kMostStates + 1];  // the root first; behind the last one, room for what is not remembered
};

}  // namespace atbprobe
