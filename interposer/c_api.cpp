#include "c_api.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "channel.h"
#include "clock_nanoseconds.h"
#include "listing_format.h"
#include "program_evaluator.h"
#include "program_verifier.h"

namespace {

using namespace atbprobe;

struct OpenProgram {
    ProgramView view;
    void* image;
};

// Memory for an image as aligned as malloc makes it, whatever the caller's is.
void* copy_of(const void* image, size_t size) {
    void* copy = malloc(size == 0 ? 1 : size);
    if (copy != nullptr) memcpy(copy, image, size);
    return copy;
}

// Opens the channel in `folder` for one action and closes it again. No exception leaves a C function.
template <typename Action>
int64_t with_channel(const char* folder, IfMissing if_missing, Action action) {
    try {
        Channel channel;
        const int error = channel_open(folder, if_missing, &channel);
        if (error != 0) return error;
        const int64_t result = action(channel);
        channel_unmap(&channel);
        return result;
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

}  // namespace

const char* atbprobe_verdict_name(uint32_t verdict) { return verdict_name(static_cast<Verdict>(verdict)); }

void* atbprobe_program_open(const void* image, size_t size, uint32_t* verdict) {
    void* copy = copy_of(image, size);
    auto* program = new (std::nothrow) OpenProgram{};
    Verdict found = Verdict::kTooLarge;
    if (copy != nullptr && program != nullptr) found = verify_image(copy, size, &program->view);
    *verdict = static_cast<uint32_t>(found);
    if (found == Verdict::kOk) {
        program->image = copy;
        return program;
    }
    free(copy);
    delete program;
    return nullptr;
}

void atbprobe_program_close(void* program) {
    auto* open = static_cast<OpenProgram*>(program);
    if (open == nullptr) return;
    free(open->image);
    delete open;
}

uint32_t atbprobe_verify(const void* image, size_t size) {
    uint32_t verdict = 0;
    atbprobe_program_close(atbprobe_program_open(image, size, &verdict));
    return verdict;
}

void atbprobe_program_decide(const void* program, uint64_t round, const char* dir, size_t dir_length, uint64_t earlier,
                             AtbprobeDecision* decision) {
    const ProgramView& view = static_cast<const OpenProgram*>(program)->view;
    const uint64_t by_round = rules_by_round(view, round);
    const uint64_t by_dir = rules_by_dir(view, dir, dir_length);
    const uint64_t rules = rules_by_next(view, by_round & by_dir, earlier);
    const Tasks tasks = tasks_of_rules(view, rules);
    *decision = {rules, by_round != 0, by_dir != 0, tasks.input, tasks.output};
}

int64_t atbprobe_channel_path(const char* runtime_folder, const char* config_path, char* text, size_t size) {
    try {
        std::string folder;
        const int error = channel_folder_of(runtime_folder, config_path, &folder);
        if (error != 0) return error;
        if (folder.size() >= size) return -ENAMETOOLONG;
        memcpy(text, folder.c_str(), folder.size() + 1);
        return static_cast<int64_t>(folder.size());
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

int64_t atbprobe_channel_create(const char* folder) {
    return with_channel(folder, IfMissing::kCreate, [](const Channel&) -> int64_t { return 0; });
}

int64_t atbprobe_publish(const char* folder, const void* image, size_t size) {
    void* copy = copy_of(image, size);
    if (copy == nullptr) return -ENOMEM;
    const int64_t result = with_channel(folder, IfMissing::kFail, [&](const Channel& channel) -> int64_t {
        return channel_publish(folder, channel, copy, size);
    });
    free(copy);
    return result;
}

int64_t atbprobe_channel_close(const char* folder) {
    return with_channel(folder, IfMissing::kFail, [](const Channel& channel) -> int64_t {
        channel.control->generation.store(kChannelClosed, std::memory_order_release);
        return 0;
    });
}

int64_t atbprobe_channel_ring(const char* folder) {
    return with_channel(folder, IfMissing::kFail, [](const Channel& channel) -> int64_t {
        for (uint32_t i = 0; i < kSlotCount; ++i)
            channel.slots[i].mailbox[kBellPlace].fetch_add(1, std::memory_order_release);
        return 0;
    });
}

int64_t atbprobe_channel_heartbeat(const char* folder, uint32_t pid, uint64_t start_time) {
    return with_channel(folder, IfMissing::kFail, [&](const Channel& channel) -> int64_t {
        channel.control->heartbeat.store(clock_nanoseconds(CLOCK_MONOTONIC), std::memory_order_relaxed);
        channel.control->watcher_start_time.store(start_time, std::memory_order_relaxed);
        channel.control->watcher_pid.store(pid, std::memory_order_release);
        return 0;
    });
}
