// The program image: what the compiler writes and the evaluator runs. Wire structs only; no behaviour.
//
// An image is a header, a table of sections, and the sections: arrays of one fixed-width little-endian record type
// each, at relative offsets. It holds no pointers, so the same bytes serve every process. The layout stands here and
// in engine/atbprobe_rules/program.py; `atbprobe_layout()` prints this side and a test holds both together.
//
// Rules are bits: rule r is bit r of every mask below.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atbprobe {

inline constexpr char kImageMagic[8] = {'A', 'T', 'B', 'R', 'U', 'L', 'E', 'S'};
inline constexpr uint32_t kImageVersion = 1;
inline constexpr uint64_t kMaxImageBytes = 64u << 20;
inline constexpr uint32_t kSectionAlignment = 64;
inline constexpr uint32_t kMaxSections = 64;
inline constexpr uint32_t kMaxPathWords = 64;

struct ImageHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint64_t total_bytes;
    uint64_t generation;      // 0 until published
    uint8_t config_hash[32];  // SHA-256 of the config file's bytes
    uint32_t section_count;
    uint32_t section_bytes;
    uint32_t checksum;  // CRC-32 (IEEE 802.3) of the whole image with this field zero
    uint32_t reserved;
};

enum class SectionKind : uint32_t {
    kProgram = 1,
    kRounds = 2,
    kRoundStrides = 3,
    kDevices = 4,
    kDeviceStrides = 5,
    kIdClasses = 8,
    kIdTransitions = 9,
    kIdStates = 10,
    kIdEmissions = 11,
    kNameClasses = 12,
    kNameTransitions = 13,
    kNameStates = 14,
    kNameEmissions = 15,
    kNamePositions = 16,
    kPathWords = 17,
    kPathAccepts = 18,
    kActions = 19,
    kRuleNames = 20,
    kText = 21,
};
inline constexpr uint32_t kSectionKindEnd = 22;

constexpr bool is_known_section(uint32_t kind) {
    constexpr uint32_t kUnused = uint32_t{1} << 0 | uint32_t{1} << 6 | uint32_t{1} << 7;
    return kind < kSectionKindEnd && (kUnused >> kind & 1) == 0;
}

// A reader that does not know the kind of a section so marked must refuse the image.
inline constexpr uint32_t kSectionRequired = 1;

struct SectionEntry {  // ascending by kind, each kind at most once
    uint32_t kind;
    uint32_t flags;
    uint64_t offset;  // from the start of the image, a multiple of kSectionAlignment
    uint64_t count;   // records
    uint32_t record_bytes;
    uint32_t reserved;
};

struct ProgramRecord {
    uint64_t enabled_rules;   // every rule, or none while dumping is off
    uint64_t select_all;      // rules without terms that take every op
    uint64_t select_layers;   // rules without terms that take layer-level ops
    uint64_t match_all;       // rules that need an id term and a name term
    uint64_t unknown_device;  // rules that also take an op whose device is not known
    uint32_t rule_count;
    uint32_t dump_enable;
    uint32_t filter_level;
    uint32_t id_class_count;
    uint32_t id_start;      // offset of the start state's row in the transitions
    uint32_t id_absorbing;  // rows below this offset lead nowhere but to themselves
    uint32_t name_class_count;
    uint32_t name_start;
    uint32_t name_absorbing;
    uint32_t reserved_before;
    uint64_t max_bytes;  // of data, by all rules together; 0: no limit
    uint32_t reserved[4];
};

// Values from `first` up to the next record's `first`. The records ascend and the first one begins at 0.
struct IntervalRecord {
    uint64_t first;
    uint64_t include;
    uint64_t exclude;
};

// first, first + step, … up to and including last.
struct StrideRecord {
    uint64_t first;
    uint64_t last;
    uint64_t step;
    uint64_t include;
    uint64_t exclude;
};

// What a component that ends in a state says. `here`: of this op alone; `below`: of it and of all below it;
// `excluded`: this op and all below it are not for these rules.
struct EmissionRecord {
    uint64_t here;
    uint64_t below;
    uint64_t excluded;
};

// Terms of several parts occupy consecutive positions. One word holds 64 of them.
struct PathWordRecord {
    uint64_t start;        // positions that may match at any component
    uint64_t anchored;     // positions that may match at the layer-level operation only
    uint64_t sticky;       // positions that, once matched, let the next one match at any later component
    uint64_t accept;       // positions that complete their term
    uint64_t accept_base;  // index of this word's first PathAcceptRecord; one for each bit of `accept`
};

struct PathAcceptRecord {
    uint64_t here;
    uint64_t below;
    uint64_t excluded;
};

// Bits of a task mask.
inline constexpr uint32_t kTaskTensor = 1;
inline constexpr uint32_t kTaskStatistics = 2;

// What an output has to hold for a rule to keep an operation: any of these.
inline constexpr uint32_t kConditionNan = 1;
inline constexpr uint32_t kConditionInfinity = 2;
inline constexpr uint32_t kConditionAbove = 4;  // a magnitude above `condition_bound`
inline constexpr uint32_t kConditionEnd = 8;

struct ActionRecord {  // a number of 0 is no limit
    uint32_t input_tasks;
    uint32_t output_tasks;
    uint32_t save_child;
    uint32_t condition;         // 0: none
    uint64_t next;              // executions of each op
    uint64_t max_bytes;         // of data
    uint64_t max_tensor_bytes;  // larger ones: statistics only
    uint64_t stop_after;        // operations that were kept
    double condition_bound;     // finite and not negative; 0 without kConditionAbove
    uint64_t reserved;
};

struct RuleNameRecord {  // name in kText; where the rule stands in the config file, in characters
    uint32_t text_offset;
    uint32_t text_length;
    uint32_t source_offset;
    uint32_t source_length;
};

static_assert(sizeof(ImageHeader) == 80 && offsetof(ImageHeader, checksum) == 72);
static_assert(sizeof(SectionEntry) == 32);
static_assert(sizeof(ProgramRecord) == 104);
static_assert(sizeof(IntervalRecord) == 24 && sizeof(StrideRecord) == 40 && sizeof(EmissionRecord) == 24);
static_assert(sizeof(PathWordRecord) == 40 && sizeof(PathAcceptRecord) == 24);
static_assert(sizeof(ActionRecord) == 64 && sizeof(RuleNameRecord) == 16);

}  // namespace atbprobe
