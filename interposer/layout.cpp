// Prints the layouts of both formats, so that a test can hold the Python side against them.
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "c_api.h"
#include "channel_format.h"
#include "listing_format.h"
#include "program_format.h"

namespace {

using namespace atbprobe;

// Appends to a text that may be too short for it, and counts what would have been written.
class JsonText {
  public:
    JsonText(char* text, size_t size) : text_(text), size_(size) {}

    __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        const size_t room = length_ < size_ ? size_ - length_ : 0;
        const int added = vsnprintf(room == 0 ? nullptr : text_ + length_, room, format, arguments);
        va_end(arguments);
        if (added > 0) length_ += static_cast<size_t>(added);
    }

    void open_struct(const char* name, size_t size) {
        add("%s\"%s\": {\"size\": %zu, \"fields\": {", first_struct_ ? "" : ", ", name, size);
        first_struct_ = false;
        first_field_ = true;
    }
    void field(const char* name, size_t offset, size_t size) {
        add("%s\"%s\": [%zu, %zu]", first_field_ ? "" : ", ", name, offset, size);
        first_field_ = false;
    }
    void close_struct() { add("}}"); }
    size_t length() const { return length_; }

  private:
    char* text_;
    size_t size_;
    size_t length_ = 0;
    bool first_struct_ = true;
    bool first_field_ = true;
};

#define ATBPROBE_FIELD(Struct, name) json.field(#name, offsetof(Struct, name), sizeof(Struct::name))

void add_image_structs(JsonText& json) {
    json.open_struct("ImageHeader", sizeof(ImageHeader));
    ATBPROBE_FIELD(ImageHeader, magic);
    ATBPROBE_FIELD(ImageHeader, version);
    ATBPROBE_FIELD(ImageHeader, header_bytes);
    ATBPROBE_FIELD(ImageHeader, total_bytes);
    ATBPROBE_FIELD(ImageHeader, generation);
    ATBPROBE_FIELD(ImageHeader, config_hash);
    ATBPROBE_FIELD(ImageHeader, section_count);
    ATBPROBE_FIELD(ImageHeader, section_bytes);
    ATBPROBE_FIELD(ImageHeader, checksum);
    ATBPROBE_FIELD(ImageHeader, reserved);
    json.close_struct();

    json.open_struct("SectionEntry", sizeof(SectionEntry));
    ATBPROBE_FIELD(SectionEntry, kind);
    ATBPROBE_FIELD(SectionEntry, flags);
    ATBPROBE_FIELD(SectionEntry, offset);
    ATBPROBE_FIELD(SectionEntry, count);
    ATBPROBE_FIELD(SectionEntry, record_bytes);
    ATBPROBE_FIELD(SectionEntry, reserved);
    json.close_struct();

    json.open_struct("ProgramRecord", sizeof(ProgramRecord));
    ATBPROBE_FIELD(ProgramRecord, enabled_rules);
    ATBPROBE_FIELD(ProgramRecord, select_all);
    ATBPROBE_FIELD(ProgramRecord, select_layers);
    ATBPROBE_FIELD(ProgramRecord, match_all);
    ATBPROBE_FIELD(ProgramRecord, unknown_device);
    ATBPROBE_FIELD(ProgramRecord, rule_count);
    ATBPROBE_FIELD(ProgramRecord, dump_enable);
    ATBPROBE_FIELD(ProgramRecord, filter_level);
    ATBPROBE_FIELD(ProgramRecord, id_class_count);
    ATBPROBE_FIELD(ProgramRecord, id_start);
    ATBPROBE_FIELD(ProgramRecord, id_absorbing);
    ATBPROBE_FIELD(ProgramRecord, name_class_count);
    ATBPROBE_FIELD(ProgramRecord, name_start);
    ATBPROBE_FIELD(ProgramRecord, name_absorbing);
    ATBPROBE_FIELD(ProgramRecord, reserved_before);
    ATBPROBE_FIELD(ProgramRecord, max_bytes);
    ATBPROBE_FIELD(ProgramRecord, reserved);
    json.close_struct();
}

void add_table_structs(JsonText& json) {
    json.open_struct("IntervalRecord", sizeof(IntervalRecord));
    ATBPROBE_FIELD(IntervalRecord, first);
    ATBPROBE_FIELD(IntervalRecord, include);
    ATBPROBE_FIELD(IntervalRecord, exclude);
    json.close_struct();

    json.open_struct("StrideRecord", sizeof(StrideRecord));
    ATBPROBE_FIELD(StrideRecord, first);
    ATBPROBE_FIELD(StrideRecord, last);
    ATBPROBE_FIELD(StrideRecord, step);
    ATBPROBE_FIELD(StrideRecord, include);
    ATBPROBE_FIELD(StrideRecord, exclude);
    json.close_struct();

    json.open_struct("EmissionRecord", sizeof(EmissionRecord));
    ATBPROBE_FIELD(EmissionRecord, here);
    ATBPROBE_FIELD(EmissionRecord, below);
    ATBPROBE_FIELD(EmissionRecord, excluded);
    json.close_struct();

    json.open_struct("PathWordRecord", sizeof(PathWordRecord));
    ATBPROBE_FIELD(PathWordRecord, start);
    ATBPROBE_FIELD(PathWordRecord, anchored);
    ATBPROBE_FIELD(PathWordRecord, sticky);
    ATBPROBE_FIELD(PathWordRecord, accept);
    ATBPROBE_FIELD(PathWordRecord, accept_base);
    json.close_struct();

    json.open_struct("PathAcceptRecord", sizeof(PathAcceptRecord));
    ATBPROBE_FIELD(PathAcceptRecord, here);
    ATBPROBE_FIELD(PathAcceptRecord, below);
    ATBPROBE_FIELD(PathAcceptRecord, excluded);
    json.close_struct();

    json.open_struct("ActionRecord", sizeof(ActionRecord));
    ATBPROBE_FIELD(ActionRecord, input_tasks);
    ATBPROBE_FIELD(ActionRecord, output_tasks);
    ATBPROBE_FIELD(ActionRecord, save_child);
    ATBPROBE_FIELD(ActionRecord, condition);
    ATBPROBE_FIELD(ActionRecord, next);
    ATBPROBE_FIELD(ActionRecord, max_bytes);
    ATBPROBE_FIELD(ActionRecord, max_tensor_bytes);
    ATBPROBE_FIELD(ActionRecord, stop_after);
    ATBPROBE_FIELD(ActionRecord, condition_bound);
    ATBPROBE_FIELD(ActionRecord, reserved);
    json.close_struct();

    json.open_struct("RuleNameRecord", sizeof(RuleNameRecord));
    ATBPROBE_FIELD(RuleNameRecord, text_offset);
    ATBPROBE_FIELD(RuleNameRecord, text_length);
    ATBPROBE_FIELD(RuleNameRecord, source_offset);
    ATBPROBE_FIELD(RuleNameRecord, source_length);
    json.close_struct();
}

void add_channel_structs(JsonText& json) {
    json.open_struct("ControlHeader", sizeof(ControlHeader));
    ATBPROBE_FIELD(ControlHeader, magic);
    ATBPROBE_FIELD(ControlHeader, version);
    ATBPROBE_FIELD(ControlHeader, slot_count);
    ATBPROBE_FIELD(ControlHeader, slot_bytes);
    ATBPROBE_FIELD(ControlHeader, header_bytes);
    ATBPROBE_FIELD(ControlHeader, total_bytes);
    ATBPROBE_FIELD(ControlHeader, generation);
    ATBPROBE_FIELD(ControlHeader, watcher_start_time);
    ATBPROBE_FIELD(ControlHeader, watcher_pid);
    ATBPROBE_FIELD(ControlHeader, heartbeat);
    ATBPROBE_FIELD(ControlHeader, published_at);
    json.close_struct();

    json.open_struct("ProcessSlot", sizeof(ProcessSlot));
    ATBPROBE_FIELD(ProcessSlot, owner);
    ATBPROBE_FIELD(ProcessSlot, generation);
    ATBPROBE_FIELD(ProcessSlot, generation_seen);
    ATBPROBE_FIELD(ProcessSlot, verdict);
    ATBPROBE_FIELD(ProcessSlot, device);
    ATBPROBE_FIELD(ProcessSlot, lanes_used);
    ATBPROBE_FIELD(ProcessSlot, counters);
    ATBPROBE_FIELD(ProcessSlot, mailbox);
    ATBPROBE_FIELD(ProcessSlot, text);
    ATBPROBE_FIELD(ProcessSlot, lanes);
    json.close_struct();

    json.open_struct("ProcessCounters", sizeof(ProcessCounters));
    ATBPROBE_FIELD(ProcessCounters, ops_selected);
    ATBPROBE_FIELD(ProcessCounters, tensors_saved);
    ATBPROBE_FIELD(ProcessCounters, bytes_saved);
    ATBPROBE_FIELD(ProcessCounters, bytes_queued);
    ATBPROBE_FIELD(ProcessCounters, lost);
    ATBPROBE_FIELD(ProcessCounters, hits);
    json.close_struct();

    json.open_struct("CounterLane", sizeof(CounterLane));
    ATBPROBE_FIELD(CounterLane, ops_seen);
    ATBPROBE_FIELD(CounterLane, ops_open);
    json.close_struct();
}

void add_constants(JsonText& json) {
    json.add("\"image_version\": %u, \"section_alignment\": %u, \"max_path_words\": %u, \"max_image_bytes\": %llu",
             kImageVersion, kSectionAlignment, kMaxPathWords, static_cast<unsigned long long>(kMaxImageBytes));
    json.add(", \"channel_version\": %u, \"slot_count\": %u, \"lane_count\": %u, \"slots_offset\": %zu",
             kChannelVersion, kSlotCount, kLaneCount, kSlotsOffset);
    json.add(
        ", \"listing_magic\": \"%.8s\", \"bell_place\": %zu, \"most_listed_rounds\": %llu, \"max_listing_bytes\": %zu",
        kListingMagic, kBellPlace, static_cast<unsigned long long>(kMostListedRounds), kMaxListingBytes);
    json.add(", \"listing_records\": [%u, %u, %u, %u, %u], \"listing_ends\": [%u, %u, %u]",
             static_cast<uint32_t>(ListingRecord::kOperation), static_cast<uint32_t>(ListingRecord::kKernel),
             static_cast<uint32_t>(ListingRecord::kOperationTensors),
             static_cast<uint32_t>(ListingRecord::kKernelTensors), static_cast<uint32_t>(ListingRecord::kEnd),
             static_cast<uint32_t>(ListingEnd::kComplete), static_cast<uint32_t>(ListingEnd::kThreadEnded),
             static_cast<uint32_t>(ListingEnd::kTooLarge));
    json.add(", \"control_bytes\": %zu, \"loss_reasons\": [", kControlBytes);
    const char* separator = "";
    for (const char* reason : kLossReasonNames) {
        json.add("%s\"%s\"", separator, reason);
        separator = ", ";
    }
    json.add("]");
}

}  // namespace

size_t atbprobe_layout(char* text, size_t size) {
    JsonText json(text, size);
    json.add("{\"structs\": {");
    add_image_structs(json);
    add_table_structs(json);
    add_channel_structs(json);
    json.add("}, \"constants\": {");
    add_constants(json);
    json.add("}}");
    return json.length();
}
