// The verifier: turns bytes that nobody vouches for into a program that the evaluator may trust.
//
// It bounds every offset, count, row and index that the evaluator follows, comparing before it subtracts or
// multiplies, and it returns one verdict out of an enum. What it does not check, the evaluator does not rely on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_format.h"

namespace atbprobe {

enum class Verdict : uint32_t {
    kOk = 0,
    kTooShort,
    kTooLarge,
    kBadMagic,
    kOtherVersion,
    kBadHeader,
    kBadLength,
    kBadChecksum,
    kBadSectionTable,
    kUnknownRequiredSection,
    kMissingSection,
    kBadRecordSize,
    kBadProgram,
    kBadIntervals,
    kBadStrides,
    kBadClasses,
    kBadTransitions,
    kBadStates,
    kBadPositions,
    kBadAccepts,
    kBadActions,
    kBadNames,
    kUnreadable,   // the image could not be read at all
    kUnsupported,  // a condition, budget or level that this version of the library cannot carry out
    kCount,
};

const char* verdict_name(Verdict verdict);

template <typename Record>
struct Section {
    const Record* records = nullptr;
    uint64_t count = 0;
};

struct NumberTable {
    Section<IntervalRecord> intervals;
    Section<StrideRecord> strides;
};

struct AutomatonTable {
    const uint8_t* classes = nullptr;
    const uint32_t* transitions = nullptr;
    const uint32_t* states = nullptr;
    const EmissionRecord* emissions = nullptr;
    uint32_t class_count = 0;  // 0: there is no automaton
    uint64_t reciprocal = 0;   // 2^32 / class_count, rounded up
    uint32_t start = 0;
    uint32_t absorbing = 0;

    // The state of a row. Rows are multiples of the class count below 2^32, and for those the product is exact: what
    // the rounding adds stays below 2^32. A division would cost more than scanning most names.
    uint32_t state_of(uint32_t row) const { return static_cast<uint32_t>(row * reciprocal >> 32); }
};

// A verified image, seen through typed pointers into its bytes. The image must outlive the view and not change.
struct ProgramView {
    const ProgramRecord* program = nullptr;
    uint64_t generation = 0;
    NumberTable rounds;
    NumberTable devices;
    AutomatonTable ids;
    AutomatonTable names;
    const uint64_t* positions = nullptr;  // rows of path_words.count words, one for each name emission
    Section<PathWordRecord> path_words;
    const PathAcceptRecord* path_accepts = nullptr;
    const ActionRecord* actions = nullptr;
    uint64_t next_rules = 0;         // those whose action has a `next`
    uint64_t conditional_rules = 0;  // a condition
    uint64_t rules_that_end = 0;     // a limit to what they keep in all
    uint64_t rules_with_tensor_limit = 0;
    Section<RuleNameRecord> rule_names;
    const char* text = nullptr;
};

// `image` must be aligned to 8 bytes.
Verdict verify_image(const void* image, size_t size, ProgramView* view);

// The checksum of an image, its own field taken as zero. `size` is at least that of the header.
uint32_t image_checksum(const void* image, size_t size);

}  // namespace atbprobe
