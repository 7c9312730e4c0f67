#include "program_evaluator.h"

#include <cstring>

#include "dir_scan.h"

namespace atbprobe {
namespace {

// Below this many intervals a linear walk is faster than a binary search.
constexpr uint64_t kLinearIntervals = 8;

uint64_t rules_by_number(const NumberTable& table, uint64_t number) {
    const IntervalRecord* intervals = table.intervals.records;
    uint64_t low = 0;  // the last interval that is known to begin at or before the number
    uint64_t high = table.intervals.count;
    while (high - low > kLinearIntervals) {
        const uint64_t middle = low + (high - low) / 2;
        if (intervals[middle].first <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    while (low + 1 < high && intervals[low + 1].first <= number) ++low;

    uint64_t include = intervals[low].include;
    uint64_t exclude = intervals[low].exclude;
    for (uint64_t i = 0; i < table.strides.count; ++i) {
        const StrideRecord& stride = table.strides.records[i];
        if (number < stride.first || number > stride.last || (number - stride.first) % stride.step != 0) continue;
        include |= stride.include;
        exclude |= stride.exclude;
    }
    return include & ~exclude;
}

// Reads digits as a 64-bit number. False if there are none or too many.
bool read_digits(const char* begin, const char* end, uint64_t* number) {
    uint64_t value = 0;
    for (const char* digit = begin; digit != end; ++digit) {
        if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<uint64_t>(*digit - '0'), &value))
            return false;
    }
    *number = value;
    return begin != end;
}

// `head` is `<device>_<pid>`, ended by the slash at `end`.
uint64_t rules_by_head(const ProgramView& program, const char* head, const char* end) {
    const char* const digits_end = skip_digits(head, end);
    uint64_t device = 0;
    if (*digits_end != '_' || !read_digits(head, digits_end, &device)) return program.program->unknown_device;
    return rules_by_number(program.devices, device);
}

uint64_t collect(const ProgramView& program, const PathWordRecord& word, uint64_t accepted, DirState* state) {
    uint64_t here = 0;
    for (; accepted != 0; accepted &= accepted - 1) {
        const uint64_t before = word.accept & ((accepted & -accepted) - 1);
        const auto rank = static_cast<uint64_t>(__builtin_popcountll(before));
        const PathAcceptRecord& accept = program.path_accepts[word.accept_base + rank];
        here |= accept.here;
        state->names_below |= accept.below;
        state->excluded |= accept.excluded;
    }
    return here;
}

}  // namespace

bool is_long_id(const char* begin, const char* end) {
    static constexpr char kLargest[] = "18446744073709551615";
    constexpr ptrdiff_t kMaxDigits = sizeof(kLargest) - 1;
    return end - begin < kMaxDigits || (end - begin == kMaxDigits && memcmp(begin, kLargest, kMaxDigits) <= 0);
}

uint64_t advance(const ProgramView& program, uint32_t emission, bool is_layer, const PathTerms& terms,
                 DirState* state) {
    const uint64_t words = program.path_words.count;
    const uint64_t* row = program.positions + emission * words;
    uint64_t carry = 0;
    uint64_t here = 0;
    for (uint64_t i = 0; i < words; ++i) {
        const PathWordRecord& word = program.path_words.records[i];
        const uint64_t ready = terms.matched[i] | terms.waiting[i];
        uint64_t candidates = (ready << 1) | carry | word.start;
        if (is_layer) candidates |= word.anchored;
        carry = ready >> 63;
        terms.matched[i] = candidates & row[i];
        terms.waiting[i] |= terms.matched[i] & word.sticky;
        here |= collect(program, word, terms.matched[i] & word.accept, state);
    }
    return here;
}

uint64_t rules_by_round(const ProgramView& program, uint64_t round) {
    return rules_by_number(program.rounds, round) & program.program->enabled_rules;
}

uint64_t rules_from_round(const ProgramView& program, uint64_t round) {
    const NumberTable& table = program.rounds;
    uint64_t rules = 0;
    for (uint64_t i = 0; i < table.intervals.count; ++i) {
        const bool is_over = i + 1 < table.intervals.count && table.intervals.records[i + 1].first <= round;
        if (!is_over) rules |= table.intervals.records[i].include & ~table.intervals.records[i].exclude;
    }
    for (uint64_t i = 0; i < table.strides.count; ++i) {
        if (table.strides.records[i].last >= round) rules |= table.strides.records[i].include;
    }
    return rules & program.program->enabled_rules;
}

bool read_root(const ProgramView& program, const char* dir, size_t length, DirState* state) {
    if (length > kMaxDirLength) return false;
    const char* const end = dir + length;
    const char* const head_end = find_slash(dir, end, dir);
    if (head_end == end) return false;
    const char* const root_end = find_slash(head_end + 1, end, dir);
    if (root_end == end) return false;
    *state = {};
    state->by_device = rules_by_head(program, dir, head_end) & program.program->enabled_rules;
    state->length = static_cast<uint32_t>(root_end - dir);
    state->id_row = program.ids.start;
    return true;
}

void read_to_end(const ProgramView& program, const char* dir, size_t length, DirState* state) {
    uint64_t matched[kMaxPathWords];
    uint64_t waiting[kMaxPathWords];
    memset(matched, 0, program.path_words.count * sizeof(uint64_t));
    memset(waiting, 0, program.path_words.count * sizeof(uint64_t));
    for (bool is_layer = true; state->length != length; is_layer = false)
        read_one(program, dir, length, is_layer, {matched, waiting}, *state, state);
}

uint64_t rules_by_dir(const ProgramView& program, const char* dir, size_t length) {
    DirState state;
    if (!read_root(program, dir, length, &state) || state.by_device == 0) return 0;
    read_to_end(program, dir, length, &state);
    return state.rules;
}

uint64_t rules_by_next(const ProgramView& program, uint64_t rules, uint64_t earlier) {
    for (uint64_t counted = rules & program.next_rules; counted != 0; counted &= counted - 1) {
        if (earlier >= program.actions[__builtin_ctzll(counted)].next) rules &= ~(counted & -counted);
    }
    return rules;
}

size_t layer_length(const char* dir, size_t length) {
    constexpr int kSlashesWithin = 2;  // <device>_<pid>/<count>/<id>_<name>
    size_t layer = 0;
    for (int slashes = 0; layer < length; ++layer) {
        if (dir[layer] == '/' && slashes++ == kSlashesWithin) break;
    }
    return layer;
}

uint64_t rules_with_children(const ProgramView& program, uint64_t rules) {
    uint64_t with_children = 0;
    for (; rules != 0; rules &= rules - 1) {
        if (program.actions[__builtin_ctzll(rules)].save_child != 0) with_children |= rules & -rules;
    }
    return with_children;
}

Tasks tasks_of_rules(const ProgramView& program, uint64_t rules) {
    Tasks tasks;
    for (; rules != 0; rules &= rules - 1) {
        const ActionRecord& action = program.actions[__builtin_ctzll(rules)];
        tasks.input |= action.input_tasks;
        tasks.output |= action.output_tasks;
    }
    return tasks;
}

namespace {

uint32_t tasks_of_rule(const ActionRecord& action, Side side, uint64_t bytes) {
    const uint32_t tasks = side == Side::kInput ? action.input_tasks : action.output_tasks;
    const bool is_too_large = action.max_tensor_bytes != 0 && bytes > action.max_tensor_bytes;
    return is_too_large && (tasks & kTaskTensor) != 0 ? kTaskStatistics : tasks;
}

}  // namespace

uint32_t tasks_of_tensor(const ProgramView& program, uint64_t rules, Side side, uint64_t bytes) {
    uint32_t tasks = 0;
    for (; rules != 0; rules &= rules - 1) {
        tasks |= tasks_of_rule(program.actions[__builtin_ctzll(rules)], side, bytes);
    }
    return tasks;
}

uint64_t rules_for_data(const ProgramView& program, uint64_t rules, Side side, uint64_t bytes) {
    uint64_t found = 0;
    for (; rules != 0; rules &= rules - 1) {
        const uint32_t tasks = tasks_of_rule(program.actions[__builtin_ctzll(rules)], side, bytes);
        if ((tasks & kTaskTensor) != 0) found |= rules & -rules;
    }
    return found;
}

}  // namespace atbprobe
