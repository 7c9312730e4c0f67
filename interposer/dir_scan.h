// Reading one component of a directory: what every question about a new one goes through, compiled into both of its
// callers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "always_inline.h"
#include "byte_words.h"
#include "program_evaluator.h"

namespace atbprobe {

inline bool is_digit(char byte) { return static_cast<unsigned char>(byte - '0') <= 9; }

inline const char* skip_digits(const char* begin, const char* end) {
    while (begin != end && is_digit(*begin)) ++begin;
    return begin;
}

inline uint32_t step(const AutomatonTable& table, uint32_t row, char byte) {
    return table.transitions[row + table.classes[static_cast<unsigned char>(byte)]];
}

inline const EmissionRecord& emission_of(const AutomatonTable& table, uint32_t row) {
    return table.emissions[table.states[table.state_of(row)]];
}

// Whether 20 digits or more are a number of 64 bits.
bool is_long_id(const char* begin, const char* end);

// Whether these digits are a canonical decimal number of 64 bits.
inline bool is_canonical_id(const char* begin, const char* end) {
    constexpr ptrdiff_t kAlwaysFits = 19;
    const ptrdiff_t length = end - begin;
    if (length == 1) return true;
    if (length == 0 || *begin == '0') return false;
    return length <= kAlwaysFits || is_long_id(begin, end);
}

// Path terms: position bits that advance by one with each component whose name matches their part. `matched` and
// `waiting` have a word for each of the program's.
struct PathTerms {
    uint64_t* matched;
    uint64_t* waiting;
};

// Takes the path terms one component on, which ended in this emission. Returns the rules that take this op alone.
uint64_t advance(const ProgramView& program, uint32_t emission, bool is_layer, const PathTerms& terms, DirState* state);

// Of the ids: where a component without an id leads to. It is never left, and says nothing.
inline constexpr uint32_t kDeadRow = 0;

struct IdScan {
    uint32_t row;
    const char* name;  // where the name begins
};

// Reads the id of the component at `begin`, which is `<id>_<name>` or anything else. `row` is not looked at without an
// automaton.
ATBPROBE_INLINE IdScan read_id(const AutomatonTable& ids, uint32_t row, bool is_layer, const char* begin,
                               const char* end) {
    const char* byte = begin;
    if (ids.class_count == 0) {
        byte = skip_digits(begin, end);
    } else {
        // Rows that lead only to themselves, the dead one among them, are stepped through like all others.
        if (!is_layer) row = step(ids, row, '_');
        for (; byte != end && is_digit(*byte); ++byte) row = step(ids, row, *byte);
    }
    if (__builtin_expect(byte != end && *byte == '_', 1))
        return {is_canonical_id(begin, byte) ? row : kDeadRow, byte + 1};
    // Not what a host makes: no number before the first `_`, or no `_`.
    while (byte != end && *byte != '_' && *byte != '/') ++byte;
    return {kDeadRow, byte != end && *byte == '_' ? byte + 1 : begin};
}

// Reads a name as far as it matters, and returns where that is.
ATBPROBE_INLINE const char* read_name(const AutomatonTable& names, const char* name, const char* end, uint32_t* row) {
    *row = names.start;
    while (name != end && *name != '/' && *row >= names.absorbing) *row = step(names, *row, *name++);
    return name;
}

// Reads the component behind `from`. Both states may be the same one.
ATBPROBE_INLINE void read_one(const ProgramView& program, const char* dir, size_t length, bool is_layer,
                              const PathTerms& terms, const DirState& from, DirState* to) {
    const char* const end = dir + length;
    const IdScan id = read_id(program.ids, from.id_row, is_layer, dir + from.length + 1, end);
    to->by_device = from.by_device;
    to->id_row = id.row;
    to->ids_below = from.ids_below;
    to->excluded = from.excluded;
    to->names_below = from.names_below;
    uint64_t ids = 0;  // of this component alone
    uint64_t names = 0;
    if (program.ids.class_count != 0 && id.row != kDeadRow) {
        const EmissionRecord& emission = emission_of(program.ids, id.row);
        ids = emission.here;
        to->ids_below |= emission.below;
        to->excluded |= emission.excluded;
    }
    const char* byte = id.name;
    if (program.names.class_count != 0) {
        uint32_t row = 0;
        byte = read_name(program.names, byte, end, &row);
        const uint32_t index = program.names.states[program.names.state_of(row)];
        const EmissionRecord& emission = program.names.emissions[index];
        names = emission.here;
        to->names_below |= emission.below;
        to->excluded |= emission.excluded;
        if (program.path_words.count != 0) names |= advance(program, index, is_layer, terms, to);
    }
    to->length = static_cast<uint32_t>(find_slash(byte, end, dir) - dir);

    const ProgramRecord& record = *program.program;
    ids |= to->ids_below;
    names |= to->names_below;
    uint64_t rules = ((ids | names) & ~record.match_all) | (ids & names & record.match_all) | record.select_all;
    if (is_layer) rules |= record.select_layers;
    to->rules = rules & ~to->excluded & to->by_device;
}

// Reads one more component behind `from`, which is the root or `can_resume`. Both states may be the same one.
ATBPROBE_INLINE void read_component(const ProgramView& program, const char* dir, size_t length, bool is_layer,
                                    const DirState& from, DirState* to) {
    to->matched = from.matched;
    to->waiting = from.waiting;
    read_one(program, dir, length, is_layer, {&to->matched, &to->waiting}, from, to);
}

}  // namespace atbprobe
