#include "remembered_dirs.h"

#include <algorithm>

#include "dir_scan.h"

namespace atbprobe {

// None of them is longer than `dir`, nor `dir` itself.
inline void RememberedDirs::forget_all_but_those_above(const char* dir, size_t length) {
    if (count_ == 0) return;
    const size_t common = common_length(text_, dir, last().length);
    const auto is_above = [&](size_t known) { return known <= common && known < length && dir[known] == '/'; };
    while (count_ != 0 && !is_above(last().length)) --count_;
}

uint64_t RememberedDirs::read(const ProgramView& program, const char* dir, size_t length) {
    forget_all_but_those_above(dir, length);
    if (count_ == 0 && !read_first(program, dir, length)) return rules_by_dir(program, dir, length);
    if (last().by_device == 0 || length > kMaxDirLength) return 0;
    if (!can_resume(program)) return read_from_root(program, dir, length);
    copy_rest(text_, dir, last().length, std::min(length, kMostText));
    const DirState* from = &last();
    bool is_layer = count_ == 1;
    for (; from->length != length; is_layer = false) {
        DirState* const to = &states_[count_];
        read_component(program, dir, length, is_layer, *from, to);
        if (to->length <= kMostText && count_ < kMostStates) ++count_;
        from = to;
    }
    return from->rules;
}

// The root. False if there is none, or no room for it.
bool RememberedDirs::read_first(const ProgramView& program, const char* dir, size_t length) {
    DirState& root = states_[0];
    if (!read_root(program, dir, length, &root) || root.length > kMostText) return false;
    copy_rest(text_, dir, 0, root.length);
    count_ = 1;
    return true;
}

uint64_t RememberedDirs::read_from_root(const ProgramView& program, const char* dir, size_t length) {
    count_ = 1;
    DirState state = states_[0];
    read_to_end(program, dir, length, &state);
    if (length <= kMostText) {
        copy_rest(text_, dir, states_[0].length, length);
        states_[count_++] = state;
    }
    return state.rules;
}

}  // namespace atbprobe
