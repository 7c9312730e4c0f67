// The operations that are open on one thread: those whose before pass was granted and whose end has not been seen.
//
// The open ones are always the ancestors of the one that the host asks about now, so a question about a directory
// closes every operation that is not on the way down to it. For the same reason one buffer holds all their
// directories: each is a prefix of the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "limited_operation.h"
#include "program_evaluator.h"

namespace atbprobe {

struct OpenOperation {
    uint64_t round;
    size_t dir_length;
    uint64_t rules;
    Tasks tasks;
    uint32_t filter_level;
    bool begun;                 // its before pass was asked for; until then it is only a candidate, and has rules alone
    bool is_current;            // it was decided under the program in force
    bool after_asked;           // nothing is below it any more
    LimitedOperation* limited;  // null unless its rules have conditions or budgets
};

// Plain memory, zero-initialised, grown as needed and kept: it belongs to a thread record, which is never destroyed.
class OpenOperations {
  public:
    // The operation of this round and directory, or null. Closes all that cannot be open any more.
    OpenOperation* find(uint64_t round, const char* dir, size_t length);

    // Opens an operation that `rules` take, below those that `find` left. Null without memory.
    OpenOperation* open(uint64_t round, const char* dir, size_t length, uint64_t rules);

    void begin_innermost() {
        innermost()->begun = true;
        ++begun_;
    }
    void close_innermost() {
        OpenOperation* operation = &operations_[--count_];
        if (operation->begun) --begun_;
        close_limited(operation);
    }
    static void close_limited(OpenOperation* operation) {
        if (__builtin_expect(operation->limited == nullptr, 1)) return;
        operation->limited->close();
        operation->limited = nullptr;
    }

    // Closes those whose after pass was asked for: the innermost ones.
    void close_asked() {
        while (count_ != 0 && innermost()->after_asked) close_innermost();
    }

    OpenOperation* innermost() const { return count_ == 0 ? nullptr : &operations_[count_ - 1]; }
    const OpenOperation* outermost() const { return count_ == 0 ? nullptr : operations_; }

    const char* innermost_dir() const { return dir_; }

    bool any() const { return count_ != 0; }
    size_t begun() const { return begun_; }
    bool any_begun_in_round(uint64_t round) const {
        for (size_t i = 0; i < count_; ++i) {
            if (operations_[i].begun && operations_[i].round == round) return true;
        }
        return false;
    }

    // Whether `path` lies in the directory of the innermost one.
    bool innermost_contains(const char* path, size_t length) const;

    // To be called with every new program.
    void outdate() {
        for (size_t i = 0; i < count_; ++i) operations_[i].is_current = false;
    }
    void close_all() {
        while (count_ != 0) close_innermost();
    }
    // In a forked child nothing of the parent's is saved; what other threads were at is not touched.
    void forget(bool is_own_thread) {
        for (size_t i = 0; is_own_thread && i < count_; ++i) {
            if (operations_[i].limited != nullptr) operations_[i].limited->abandon();
        }
        count_ = begun_ = 0;
    }

  private:
    bool is_on_the_way(const OpenOperation& operation, const char* dir, size_t length) const;

    OpenOperation* operations_;
    char* dir_;  // of the innermost one
    size_t count_;
    size_t begun_;  // how many of them have begun
    size_t capacity_;
    size_t dir_capacity_;
};

}  // namespace atbprobe
