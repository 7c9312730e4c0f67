// Text eight bytes at a time: directories are short, and a call of memchr or memcmp costs more than they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atbprobe {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of a text is the lowest of its word");

inline uint64_t word_at(const char* text) {
    uint64_t word = 0;
    memcpy(&word, text, sizeof(word));
    return word;
}

// Index of the lowest byte of `word` that is not zero.
inline size_t first_byte_of(uint64_t word) { return static_cast<size_t>(__builtin_ctzll(word)) / 8; }

// The first slash at or behind `begin`; `end` if there is none. `floor` is at most `begin`, and readable from there.
inline const char* find_slash(const char* begin, const char* end, const char* floor) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    constexpr uint64_t kTops = 0x8080808080808080;
    // The lowest bit set is that of the first slash; bits above it may be wrong.
    const auto slashes = [](uint64_t word) {
        const uint64_t difference = word ^ (kOnes * '/');
        return (difference - kOnes) & ~difference & kTops;
    };
    for (; end - begin >= 8; begin += 8) {
        const uint64_t found = slashes(word_at(begin));
        if (found != 0) return begin + first_byte_of(found);
    }
    if (begin == end) return end;
    if (end - floor >= 8) {
        // The last eight bytes, those before `begin` shifted out.
        const uint64_t found = slashes(word_at(end - 8) >> (8 * (8 - (end - begin))));
        return found != 0 ? begin + first_byte_of(found) : end;
    }
    while (begin != end && *begin != '/') ++begin;
    return begin;
}

// How many bytes two texts of `length` bytes have in common at their beginning.
inline size_t common_length(const char* left, const char* right, size_t length) {
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        const uint64_t difference = word_at(left + i) ^ word_at(right + i);
        if (difference != 0) return i + first_byte_of(difference);
    }
    if (i == length) return length;
    if (length >= 8) {
        const uint64_t difference = word_at(left + length - 8) ^ word_at(right + length - 8);
        return difference != 0 ? length - 8 + first_byte_of(difference) : length;
    }
    while (i < length && left[i] == right[i]) ++i;
    return i;
}

// Copies bytes `begin` up to `end` of a text to the same place in another one, which has the same bytes before them.
inline void copy_rest(char* to, const char* from, size_t begin, size_t end) {
    for (; begin + 8 <= end; begin += 8) memcpy(to + begin, from + begin, 8);
    if (begin >= end) return;
    if (end >= 8) {
        memcpy(to + end - 8, from + end - 8, 8);
        return;
    }
    for (; begin < end; ++begin) to[begin] = from[begin];
}

}  // namespace atbprobe
