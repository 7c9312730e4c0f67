#include "program_verifier.h"

#include <boost/crc.hpp>
#include <cfloat>
#include <cstring>

namespace atbprobe {
namespace {

constexpr const char* kVerdictNames[] = {
    "ok",
    "too-short",
    "too-large",
    "bad-magic",
    "other-version",
    "bad-header",
    "bad-length",
    "bad-checksum",
    "bad-section-table",
    "unknown-required-section",
    "missing-section",
    "bad-record-size",
    "bad-program",
    "bad-intervals",
    "bad-strides",
    "bad-classes",
    "bad-transitions",
    "bad-states",
    "bad-positions",
    "bad-accepts",
    "bad-actions",
    "bad-names",
    "unreadable",
    "unsupported",
};
static_assert(sizeof(kVerdictNames) / sizeof(kVerdictNames[0]) == static_cast<size_t>(Verdict::kCount));

constexpr uint32_t kMaxFilterLevel = 3;
constexpr uint32_t kAllTasks = kTaskTensor | kTaskStatistics;

struct SectionTable {
    const uint8_t* image;
    const SectionEntry* by_kind[kSectionKindEnd];
};

// A section that is absent counts as empty; whether it may be is decided where its meaning is known.
template <typename Record>
Verdict find_section(const SectionTable& table, SectionKind kind, Section<Record>* section) {
    const SectionEntry* entry = table.by_kind[static_cast<uint32_t>(kind)];
    if (entry == nullptr) {
        *section = {};
        return Verdict::kOk;
    }
    if (entry->record_bytes != sizeof(Record)) return Verdict::kBadRecordSize;
    section->records = reinterpret_cast<const Record*>(table.image + entry->offset);
    section->count = entry->count;
    return Verdict::kOk;
}

Verdict verify_header(const ImageHeader& header, const void* image, size_t size) {
    if (memcmp(header.magic, kImageMagic, sizeof(kImageMagic)) != 0) return Verdict::kBadMagic;
    if (header.version != kImageVersion) return Verdict::kOtherVersion;
    if (header.header_bytes != sizeof(ImageHeader)) return Verdict::kBadHeader;
    if (header.section_bytes != sizeof(SectionEntry)) return Verdict::kBadHeader;
    if (header.section_count > kMaxSections) return Verdict::kBadHeader;
    if (header.total_bytes != size) return Verdict::kBadLength;
    if (header.checksum != image_checksum(image, size)) return Verdict::kBadChecksum;
    if (size - sizeof(ImageHeader) < header.section_count * sizeof(SectionEntry)) return Verdict::kBadSectionTable;
    return Verdict::kOk;
}

Verdict read_section_table(const ImageHeader& header, size_t size, SectionTable* table) {
    const auto* entries = reinterpret_cast<const SectionEntry*>(table->image + sizeof(ImageHeader));
    uint64_t end_of_last = sizeof(ImageHeader) + header.section_count * sizeof(SectionEntry);
    uint32_t last_kind = 0;
    for (uint32_t i = 0; i < header.section_count; ++i) {
        const SectionEntry& entry = entries[i];
        if (entry.kind <= last_kind) return Verdict::kBadSectionTable;
        last_kind = entry.kind;
        if (entry.offset % kSectionAlignment != 0 || entry.offset < end_of_last || entry.offset > size)
            return Verdict::kBadSectionTable;
        if (entry.record_bytes == 0 || entry.count > (size - entry.offset) / entry.record_bytes)
            return Verdict::kBadSectionTable;
        end_of_last = entry.offset + entry.count * entry.record_bytes;
        const bool known = is_known_section(entry.kind);
        if (known) table->by_kind[entry.kind] = &entry;
        if (!known && (entry.flags & kSectionRequired) != 0) return Verdict::kUnknownRequiredSection;
    }
    return Verdict::kOk;
}

Verdict verify_program(const Section<ProgramRecord>& section) {
    if (section.count == 0) return Verdict::kMissingSection;
    if (section.count != 1) return Verdict::kBadProgram;
    const ProgramRecord& program = *section.records;
    if (program.rule_count == 0 || program.rule_count > 64) return Verdict::kBadProgram;
    const uint64_t all_rules = ~uint64_t{0} >> (64 - program.rule_count);
    if ((program.enabled_rules & ~all_rules) != 0) return Verdict::kBadProgram;
    if (program.dump_enable > 1 || program.filter_level > kMaxFilterLevel) return Verdict::kBadProgram;
    if (program.dump_enable == 0 && program.enabled_rules != 0) return Verdict::kBadProgram;
    return Verdict::kOk;
}

Verdict verify_numbers(const NumberTable& table) {
    const auto& intervals = table.intervals;
    if (intervals.count == 0) return Verdict::kMissingSection;
    if (intervals.records[0].first != 0) return Verdict::kBadIntervals;
    for (uint64_t i = 1; i < intervals.count; ++i) {
        if (intervals.records[i].first <= intervals.records[i - 1].first) return Verdict::kBadIntervals;
    }
    for (uint64_t i = 0; i < table.strides.count; ++i) {
        const StrideRecord& stride = table.strides.records[i];
        if (stride.step == 0 || stride.last < stride.first) return Verdict::kBadStrides;
    }
    return Verdict::kOk;
}

struct AutomatonSections {
    Section<uint8_t> classes;
    Section<uint32_t> transitions;
    Section<uint32_t> states;
    Section<EmissionRecord> emissions;
};

Verdict verify_automaton(const AutomatonSections& sections, AutomatonTable* table) {
    const uint32_t class_count = table->class_count;
    const uint64_t state_count = sections.states.count;
    if (class_count == 0) {
        const bool absent = sections.classes.count == 0 && sections.transitions.count == 0 && state_count == 0;
        return absent && table->start == 0 && table->absorbing == 0 ? Verdict::kOk : Verdict::kBadClasses;
    }
    if (class_count > 256 || sections.classes.count != 256) return Verdict::kBadClasses;
    table->reciprocal = ((uint64_t{1} << 32) + class_count - 1) / class_count;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        if (sections.classes.records[byte] >= class_count) return Verdict::kBadClasses;
    }

    const uint64_t transition_count = sections.transitions.count;
    if (state_count == 0 || transition_count % class_count != 0 || transition_count / class_count != state_count)
        return Verdict::kBadTransitions;
    if (transition_count > UINT32_MAX) return Verdict::kBadTransitions;
    const auto is_row = [&](uint32_t offset) { return offset < transition_count && offset % class_count == 0; };
    if (!is_row(table->start)) return Verdict::kBadTransitions;
    if (table->absorbing > transition_count || table->absorbing % class_count != 0) return Verdict::kBadTransitions;
    for (uint64_t i = 0; i < transition_count; ++i) {
        const uint32_t target = sections.transitions.records[i];
        if (!is_row(target)) return Verdict::kBadTransitions;
        if (i < table->absorbing && target != i - i % class_count) return Verdict::kBadTransitions;
    }

    for (uint64_t i = 0; i < state_count; ++i) {
        if (sections.states.records[i] >= sections.emissions.count) return Verdict::kBadStates;
    }
    table->classes = sections.classes.records;
    table->transitions = sections.transitions.records;
    table->states = sections.states.records;
    table->emissions = sections.emissions.records;
    return Verdict::kOk;
}

// The evaluator jumps to row 0 of the ids where a component has no id, so that row must be a dead end.
Verdict verify_dead_state(const AutomatonTable& ids) {
    if (ids.class_count == 0) return Verdict::kOk;
    if (ids.absorbing == 0) return Verdict::kBadStates;
    const EmissionRecord& emission = ids.emissions[ids.states[0]];
    return (emission.here | emission.below | emission.excluded) == 0 ? Verdict::kOk : Verdict::kBadStates;
}

Verdict verify_paths(const Section<uint64_t>& positions, const Section<PathWordRecord>& words,
                     const Section<PathAcceptRecord>& accepts, uint64_t name_emissions) {
    if (words.count > kMaxPathWords) return Verdict::kBadPositions;
    if (words.count == 0) return positions.count == 0 && accepts.count == 0 ? Verdict::kOk : Verdict::kBadPositions;
    if (positions.count % words.count != 0 || positions.count / words.count != name_emissions)
        return Verdict::kBadPositions;
    uint64_t accept_count = 0;
    for (uint64_t i = 0; i < words.count; ++i) {
        if (words.records[i].accept_base != accept_count) return Verdict::kBadAccepts;
        accept_count += static_cast<uint64_t>(__builtin_popcountll(words.records[i].accept));
    }
    return accept_count == accepts.count ? Verdict::kOk : Verdict::kBadAccepts;
}

// No NaN passes this, and no infinity.
bool is_good_bound(const ActionRecord& action) {
    const bool has_bound = (action.condition & kConditionAbove) != 0;
    return action.condition_bound >= 0 && action.condition_bound <= (has_bound ? DBL_MAX : 0);
}

Verdict verify_actions(const Section<ActionRecord>& actions, uint32_t rule_count, ProgramView* view) {
    if (actions.count != rule_count) return Verdict::kBadActions;
    for (uint64_t i = 0; i < actions.count; ++i) {
        const ActionRecord& action = actions.records[i];
        if (((action.input_tasks | action.output_tasks) & ~kAllTasks) != 0) return Verdict::kBadActions;
        if (action.save_child > 1) return Verdict::kBadActions;
        if (action.condition >= kConditionEnd || action.reserved != 0) return Verdict::kUnsupported;
        if (!is_good_bound(action)) return Verdict::kBadActions;
        const uint64_t rule = uint64_t{1} << i;
        if (action.next != 0) view->next_rules |= rule;
        if (action.condition != 0) view->conditional_rules |= rule;
        if (action.max_tensor_bytes != 0) view->rules_with_tensor_limit |= rule;
        if ((action.max_bytes | action.stop_after) != 0) view->rules_that_end |= rule;
    }
    return Verdict::kOk;
}

Verdict verify_names(const Section<RuleNameRecord>& names, const Section<char>& text, uint32_t rule_count) {
    if (names.count != rule_count) return Verdict::kBadNames;
    for (uint64_t i = 0; i < names.count; ++i) {
        const RuleNameRecord& name = names.records[i];
        if (name.text_offset > text.count || name.text_length > text.count - name.text_offset)
            return Verdict::kBadNames;
    }
    return Verdict::kOk;
}

// Runs the checks in order and stops at the first that fails.
#define ATBPROBE_CHECK(expression)                     \
    do {                                               \
        const Verdict verdict_ = (expression);         \
        if (verdict_ != Verdict::kOk) return verdict_; \
    } while (false)

Verdict verify_automata(const SectionTable& table, const ProgramRecord& program, ProgramView* view,
                        uint64_t* name_emissions) {
    AutomatonSections ids;
    ATBPROBE_CHECK(find_section(table, SectionKind::kIdClasses, &ids.classes));
    ATBPROBE_CHECK(find_section(table, SectionKind::kIdTransitions, &ids.transitions));
    ATBPROBE_CHECK(find_section(table, SectionKind::kIdStates, &ids.states));
    ATBPROBE_CHECK(find_section(table, SectionKind::kIdEmissions, &ids.emissions));
    view->ids.class_count = program.id_class_count;
    view->ids.start = program.id_start;
    view->ids.absorbing = program.id_absorbing;
    ATBPROBE_CHECK(verify_automaton(ids, &view->ids));
    ATBPROBE_CHECK(verify_dead_state(view->ids));

    AutomatonSections names;
    ATBPROBE_CHECK(find_section(table, SectionKind::kNameClasses, &names.classes));
    ATBPROBE_CHECK(find_section(table, SectionKind::kNameTransitions, &names.transitions));
    ATBPROBE_CHECK(find_section(table, SectionKind::kNameStates, &names.states));
    ATBPROBE_CHECK(find_section(table, SectionKind::kNameEmissions, &names.emissions));
    view->names.class_count = program.name_class_count;
    view->names.start = program.name_start;
    view->names.absorbing = program.name_absorbing;
    ATBPROBE_CHECK(verify_automaton(names, &view->names));
    *name_emissions = names.emissions.count;
    return Verdict::kOk;
}

Verdict verify_sections(const SectionTable& table, ProgramView* view) {
    Section<ProgramRecord> program;
    ATBPROBE_CHECK(find_section(table, SectionKind::kProgram, &program));
    ATBPROBE_CHECK(verify_program(program));
    view->program = program.records;

    ATBPROBE_CHECK(find_section(table, SectionKind::kRounds, &view->rounds.intervals));
    ATBPROBE_CHECK(find_section(table, SectionKind::kRoundStrides, &view->rounds.strides));
    ATBPROBE_CHECK(verify_numbers(view->rounds));
    ATBPROBE_CHECK(find_section(table, SectionKind::kDevices, &view->devices.intervals));
    ATBPROBE_CHECK(find_section(table, SectionKind::kDeviceStrides, &view->devices.strides));
    ATBPROBE_CHECK(verify_numbers(view->devices));

    uint64_t name_emissions = 0;
    ATBPROBE_CHECK(verify_automata(table, *program.records, view, &name_emissions));

    Section<uint64_t> positions;
    Section<PathAcceptRecord> accepts;
    ATBPROBE_CHECK(find_section(table, SectionKind::kNamePositions, &positions));
    ATBPROBE_CHECK(find_section(table, SectionKind::kPathWords, &view->path_words));
    ATBPROBE_CHECK(find_section(table, SectionKind::kPathAccepts, &accepts));
    ATBPROBE_CHECK(verify_paths(positions, view->path_words, accepts, name_emissions));
    view->positions = positions.records;
    view->path_accepts = accepts.records;

    Section<ActionRecord> actions;
    ATBPROBE_CHECK(find_section(table, SectionKind::kActions, &actions));
    ATBPROBE_CHECK(verify_actions(actions, program.records->rule_count, view));
    view->actions = actions.records;

    Section<char> text;
    ATBPROBE_CHECK(find_section(table, SectionKind::kRuleNames, &view->rule_names));
    ATBPROBE_CHECK(find_section(table, SectionKind::kText, &text));
    ATBPROBE_CHECK(verify_names(view->rule_names, text, program.records->rule_count));
    view->text = text.records;
    return Verdict::kOk;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
    const auto index = static_cast<uint32_t>(verdict);
    return index < static_cast<uint32_t>(Verdict::kCount) ? kVerdictNames[index] : "unknown";
}

uint32_t image_checksum(const void* image, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(image);
    constexpr size_t kAfter = offsetof(ImageHeader, checksum) + sizeof(ImageHeader::checksum);
    constexpr uint8_t kZero[sizeof(ImageHeader::checksum)] = {};
    boost::crc_32_type crc;
    crc.process_bytes(bytes, offsetof(ImageHeader, checksum));
    crc.process_bytes(kZero, sizeof(kZero));
    crc.process_bytes(bytes + kAfter, size - kAfter);
    return crc.checksum();
}

Verdict verify_image(const void* image, size_t size, ProgramView* view) {
    if (size < sizeof(ImageHeader)) return Verdict::kTooShort;
    if (size > kMaxImageBytes) return Verdict::kTooLarge;
    const auto& header = *static_cast<const ImageHeader*>(image);
    ATBPROBE_CHECK(verify_header(header, image, size));
    SectionTable table = {static_cast<const uint8_t*>(image), {}};
    ATBPROBE_CHECK(read_section_table(header, size, &table));
    ProgramView verified;
    verified.generation = header.generation;
    ATBPROBE_CHECK(verify_sections(table, &verified));
    *view = verified;
    return Verdict::kOk;
}

}  // namespace atbprobe
