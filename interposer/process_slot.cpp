#include "process_slot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace atbprobe {
namespace {

bool owner_is_alive(uint64_t owner) {
    const auto pid = static_cast<uint32_t>(owner >> 32);
    const auto start_time = static_cast<uint32_t>(owner);
    const auto running = static_cast<uint32_t>(process_start_time(pid));
    return start_time == kOwnerClaiming ? running != 0 : running == start_time;
}

uint64_t owner_word(uint32_t pid, uint64_t start_time) {
    return uint64_t{pid} << 32 | static_cast<uint32_t>(start_time);
}

void reset_slot(ProcessSlot* slot) {
    slot->device.store(-1, std::memory_order_relaxed);
    slot->generation.store(0, std::memory_order_relaxed);
    slot->generation_seen.store(0, std::memory_order_relaxed);
    slot->verdict.store(0, std::memory_order_relaxed);
    slot->lanes_used.store(0, std::memory_order_relaxed);
    ProcessCounters& counters = slot->counters;
    for (auto* counter :
         {&counters.ops_selected, &counters.tensors_saved, &counters.bytes_saved, &counters.bytes_queued})
        counter->store(0, std::memory_order_relaxed);
    for (auto& counter : counters.lost) counter.store(0, std::memory_order_relaxed);
    for (auto& counter : counters.hits) counter.store(0, std::memory_order_relaxed);
    for (auto& letter : slot->mailbox) letter.store(0, std::memory_order_relaxed);
    for (auto& lane : slot->lanes) {
        lane.ops_seen.store(0, std::memory_order_relaxed);
        lane.ops_open.store(0, std::memory_order_relaxed);
    }
    memset(slot->text, 0, sizeof(slot->text));
}

void write_program_name(ProcessSlot* slot) {
    const ssize_t length = readlink("/proc/self/exe", slot->text, sizeof(slot->text) - 1);
    slot->text[length < 0 ? 0 : length] = '\0';
}

}  // namespace

uint64_t process_start_time(uint32_t pid) {
    constexpr int kFieldsFromState = 19;  // the state is field 3, the start time field 22
    char path[32];
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[1024];
    const ssize_t length = read(file, text, sizeof(text) - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char* state = strrchr(text, ')');  // the program's name may hold blanks and parentheses
    if (state == nullptr || state[1] != ' ' || state[2] == '\0') return 0;
    state += 2;
    if (*state == 'Z' || *state == 'X') return 0;
    const char* field = state;
    for (int i = 0; field != nullptr && i < kFieldsFromState; ++i) {
        field = strchr(field, ' ');
        if (field != nullptr) ++field;
    }
    return field == nullptr ? 0 : strtoull(field, nullptr, 10);
}

ProcessSlot* claim_slot(ProcessSlot* slots) {
    const auto pid = static_cast<uint32_t>(getpid());
    // Slots of the dead still tell what was lost, so they are taken over only when no other is left.
    for (const bool take_over : {false, true}) {
        for (uint32_t i = 0; i < kSlotCount; ++i) {
            ProcessSlot* slot = &slots[i];
            uint64_t owner = slot->owner.load(std::memory_order_acquire);
            if (owner != 0 && (!take_over || owner_is_alive(owner))) continue;
            if (!slot->owner.compare_exchange_strong(owner, owner_word(pid, kOwnerClaiming))) continue;
            reset_slot(slot);
            write_program_name(slot);
            slot->owner.store(owner_word(pid, process_start_time(pid)), std::memory_order_release);
            return slot;
        }
    }
    return nullptr;
}

}  // namespace atbprobe
