#include "program_evaluator.h"

#include <cstring>

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

const char* skip_digits(const char* begin, const char* end) {
    while (begin != end && static_cast<unsigned char>(*begin - '0') <= 9) ++begin;
    return begin;
}

// The first `byte` at or behind `begin`, or null.
const char* find(const char* begin, const char* end, char byte) {
    return static_cast<const char*>(memchr(begin, byte, static_cast<size_t>(end - begin)));
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

uint32_t scan(const AutomatonTable& table, uint32_t row, const char* begin, const char* end) {
    for (; begin != end && row >= table.absorbing; ++begin) {
        row = table.transitions[row + table.classes[static_cast<unsigned char>(*begin)]];
    }
    return row;
}

const EmissionRecord& emission_of(const AutomatonTable& table, uint32_t row) {
    return table.emissions[table.states[table.state_of(row)]];
}

// An id is a canonical decimal number of 64 bits; the automaton refuses other bytes by itself.
bool is_canonical_id(const char* begin, const char* end) {
    constexpr char kLargest[] = "18446744073709551615";
    constexpr ptrdiff_t kMaxDigits = sizeof(kLargest) - 1;
    const ptrdiff_t length = end - begin;
    if (length == 0 || length > kMaxDigits) return false;
    if (length > 1 && *begin == '0') return false;
    return length < kMaxDigits || memcmp(begin, kLargest, kMaxDigits) <= 0;
}

// What has been gathered on the way down an op path. `here` belongs to the component read last; `below` stays.
struct Registers {
    uint64_t ids_here = 0;
    uint64_t ids_below = 0;
    uint64_t names_here = 0;
    uint64_t names_below = 0;
    uint64_t excluded = 0;
};

// Terms of several parts: position bits that advance by one with each component whose name matches their part.
class PathTerms {
  public:
    explicit PathTerms(const ProgramView& program) : program_(program) {
        const size_t bytes = program.path_words.count * sizeof(uint64_t);
        if (bytes == 0) return;
        memset(matched_, 0, bytes);
        memset(waiting_, 0, bytes);
    }

    void advance(uint32_t emission, bool first, Registers* registers) {
        const uint64_t words = program_.path_words.count;
        const uint64_t* row = program_.positions + emission * words;
        uint64_t carry = 0;
        for (uint64_t i = 0; i < words; ++i) {
            const PathWordRecord& word = program_.path_words.records[i];
            const uint64_t ready = matched_[i] | waiting_[i];
            uint64_t candidates = (ready << 1) | carry | word.start;
            if (first) candidates |= word.anchored;
            carry = ready >> 63;
            matched_[i] = candidates & row[i];
            waiting_[i] |= matched_[i] & word.sticky;
            collect(word, matched_[i] & word.accept, registers);
        }
    }

  private:
    void collect(const PathWordRecord& word, uint64_t accepted, Registers* registers) const {
        for (; accepted != 0; accepted &= accepted - 1) {
            const uint64_t before = word.accept & ((accepted & -accepted) - 1);
            const auto rank = static_cast<uint64_t>(__builtin_popcountll(before));
            const PathAcceptRecord& accept = program_.path_accepts[word.accept_base + rank];
            registers->names_here |= accept.here;
            registers->names_below |= accept.below;
            registers->excluded |= accept.excluded;
        }
    }

    const ProgramView& program_;
    uint64_t matched_[kMaxPathWords];
    uint64_t waiting_[kMaxPathWords];
};

class PathScan {
  public:
    explicit PathScan(const ProgramView& program)
        : program_(program), path_terms_(program), id_row_(program.ids.start) {}

    // Reads the component that begins here, and returns its end: a slash, or null at the end of the directory.
    const char* read_component(const char* begin, const char* end) {
        const char* underscore = skip_digits(begin, end);
        const char* const slash = find(underscore, end, '/');
        if (slash != nullptr) end = slash;
        if (underscore == end || *underscore != '_') underscore = find(underscore, end, '_');
        if (program_.ids.class_count != 0) read_id(begin, underscore);
        if (program_.names.class_count != 0) read_name(underscore == nullptr ? begin : underscore + 1, end);
        ++depth_;
        return slash;
    }

    uint64_t rules() const {
        const ProgramRecord& program = *program_.program;
        const uint64_t ids = registers_.ids_here | registers_.ids_below;
        const uint64_t names = registers_.names_here | registers_.names_below;
        uint64_t rules = ((ids | names) & ~program.match_all) | (ids & names & program.match_all);
        rules |= program.select_all;
        if (depth_ == 1) rules |= program.select_layers;
        return rules & ~registers_.excluded;
    }

  private:
    void read_id(const char* begin, const char* end) {
        constexpr uint32_t kDeadRow = 0;
        constexpr char kSeparator[] = "_";
        if (end == nullptr || !is_canonical_id(begin, end)) {
            id_row_ = kDeadRow;
        } else {
            if (depth_ != 0) id_row_ = scan(program_.ids, id_row_, kSeparator, kSeparator + 1);
            id_row_ = scan(program_.ids, id_row_, begin, end);
        }
        const EmissionRecord& emission = emission_of(program_.ids, id_row_);
        registers_.ids_here = emission.here;
        registers_.ids_below |= emission.below;
        registers_.excluded |= emission.excluded;
    }

    void read_name(const char* begin, const char* end) {
        const uint32_t row = scan(program_.names, program_.names.start, begin, end);
        const uint32_t index = program_.names.states[program_.names.state_of(row)];
        const EmissionRecord& emission = program_.names.emissions[index];
        registers_.names_here = emission.here;
        registers_.names_below |= emission.below;
        registers_.excluded |= emission.excluded;
        if (program_.path_words.count != 0) path_terms_.advance(index, depth_ == 0, &registers_);
    }

    const ProgramView& program_;
    PathTerms path_terms_;
    Registers registers_;
    uint32_t id_row_;
    uint32_t depth_ = 0;
};

}  // namespace

uint64_t rules_by_round(const ProgramView& program, uint64_t round) {
    return rules_by_number(program.rounds, round) & program.program->enabled_rules;
}

uint64_t rules_by_dir(const ProgramView& program, const char* dir, size_t length) {
    if (program.program->enabled_rules == 0) return 0;
    const char* const end = dir + length;
    const char* const head_end = find(dir, end, '/');
    if (head_end == nullptr) return 0;
    const uint64_t by_device = rules_by_head(program, dir, head_end) & program.program->enabled_rules;
    if (by_device == 0) return 0;

    const char* slash = find(head_end + 1, end, '/');
    if (slash == nullptr) return 0;
    PathScan path(program);
    while (slash != nullptr) slash = path.read_component(slash + 1, end);
    return path.rules() & by_device;
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

}  // namespace atbprobe
