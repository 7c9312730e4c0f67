#include "environment.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include "log.h"
#include "memory_limit.h"

namespace atbprobe {
namespace {

constexpr int kDefaultLogLevel = 2;
constexpr uint64_t kMaxDefaultQueue = uint64_t{1} << 30U;
constexpr uint64_t kMinDefaultQueue = uint64_t{1} << 20U;
constexpr uint32_t kMaxWriters = 64;
constexpr uint32_t kMaxDefaultWriters = 4;

struct Environment {
    char* output_folder = nullptr;  // null if unset
    char* config_path = nullptr;
    char* image_path = nullptr;
    char* runtime_folder = nullptr;
    int log_level = kDefaultLogLevel;
    bool has_queue_bytes = false;
    uint64_t queue_bytes = 0;
    bool has_held_bytes = false;
    uint64_t held_bytes = 0;
    uint32_t writers = 0;  // 0 if unset
    bool has_min_free = false;
    uint64_t min_free = 0;
    bool fsync = false;
};

// A value is either read or refused with a word to the user, who must not believe that it is in force.
enum class Reading { kUnset, kRead, kRefused };

char* copy_of(const char* name) {
    const char* value = secure_getenv(name);
    return value == nullptr || *value == '\0' ? nullptr : strdup(value);
}

char* default_runtime_folder() {
    char folder[64];
    std::snprintf(folder, sizeof folder, "/dev/shm/atbprobe-%u", static_cast<unsigned>(geteuid()));
    return strdup(folder);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

Reading read_number(const char* name, uint64_t lowest, uint64_t highest, bool with_unit, uint64_t* result) {
    const char* value = secure_getenv(name);
    if (value == nullptr || *value == '\0') return Reading::kUnset;
    const std::string_view text = trimmed(value);
    uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc()) return Reading::kRefused;
    std::string_view unit = trimmed(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
    uint32_t shift = 0;
    if (with_unit) {
        if (unit == "KiB") shift = 10;
        if (unit == "MiB") shift = 20;
        if (unit == "GiB") shift = 30;
        if (shift != 0) unit = {};
    }
    if (!unit.empty() || number > (std::numeric_limits<uint64_t>::max() >> shift)) return Reading::kRefused;
    number <<= shift;
    if (number < lowest || number > highest) return Reading::kRefused;
    *result = number;
    return Reading::kRead;
}

void say_if_refused(Reading reading, const char* name) {
    if (reading != Reading::kRefused) return;
    const char* value = secure_getenv(name);
    log_message(LogLevel::kWarning, "%s=%s is not understood; its default is used", name,
                value == nullptr ? "" : value);
}

struct Readings {
    Reading log_level;
    Reading queue_bytes;
    Reading held_bytes;
    Reading writers;
    Reading min_free;
    Reading fsync;
};

Readings read_into(Environment* target) {
    Readings readings{};
    uint64_t number = kDefaultLogLevel;
    readings.log_level = read_number("ATB_AIT_LOG_LEVEL", 0, 5, false, &number);
    target->log_level = static_cast<int>(number);
    readings.queue_bytes =
        read_number("ATBPROBE_QUEUE_BYTES", 0, std::numeric_limits<int64_t>::max(), true, &target->queue_bytes);
    target->has_queue_bytes = readings.queue_bytes == Reading::kRead;
    readings.held_bytes =
        read_number("ATBPROBE_HELD_BYTES", 0, std::numeric_limits<int64_t>::max(), true, &target->held_bytes);
    target->has_held_bytes = readings.held_bytes == Reading::kRead;
    number = 0;
    readings.writers = read_number("ATBPROBE_WRITERS", 1, kMaxWriters, false, &number);
    target->writers = static_cast<uint32_t>(number);
    readings.min_free =
        read_number("ATBPROBE_MIN_FREE", 0, std::numeric_limits<int64_t>::max(), true, &target->min_free);
    target->has_min_free = readings.min_free == Reading::kRead;
    number = 0;
    readings.fsync = read_number("ATBPROBE_FSYNC", 0, 1, false, &number);
    target->fsync = number == 1;
    target->output_folder = copy_of("ATB_OUTPUT_DIR");
    target->config_path = copy_of("ATB_DUMP_CONFIG");
    target->image_path = copy_of("ATBPROBE_IMAGE");
    target->runtime_folder = copy_of("ATBPROBE_RUNTIME_DIR");
    if (target->runtime_folder == nullptr) target->runtime_folder = default_runtime_folder();
    return readings;
}

std::atomic<const Environment*> g_environment{nullptr};
constexpr Environment kWithoutMemory{};

// Published by compare-and-swap, not under a lock, which a fork at the wrong moment would leave taken for ever.
const Environment& environment() {
    const Environment* known = g_environment.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto* fresh = new (std::nothrow) Environment{};
    if (fresh == nullptr) return kWithoutMemory;
    const Readings readings = read_into(fresh);
    if (!g_environment.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        std::free(fresh->output_folder);
        std::free(fresh->config_path);
        std::free(fresh->image_path);
        std::free(fresh->runtime_folder);
        delete fresh;
        return *known;
    }
    say_if_refused(readings.log_level, "ATB_AIT_LOG_LEVEL");
    say_if_refused(readings.queue_bytes, "ATBPROBE_QUEUE_BYTES");
    say_if_refused(readings.held_bytes, "ATBPROBE_HELD_BYTES");
    say_if_refused(readings.writers, "ATBPROBE_WRITERS");
    say_if_refused(readings.min_free, "ATBPROBE_MIN_FREE");
    say_if_refused(readings.fsync, "ATBPROBE_FSYNC");
    return *fresh;
}

const char* text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

const char* environment_output_folder() { return text_or_empty(environment().output_folder); }

const char* environment_config_path() { return text_or_empty(environment().config_path); }

const char* environment_image_path() { return text_or_empty(environment().image_path); }

const char* environment_runtime_folder() { return text_or_empty(environment().runtime_folder); }

int environment_log_level() { return environment().log_level; }

uint64_t environment_queue_bytes() {
    const Environment& settings = environment();
    if (settings.has_queue_bytes) return settings.queue_bytes;
    return std::clamp(memory_limit() / 8, kMinDefaultQueue, kMaxDefaultQueue);
}

uint64_t environment_held_bytes() {
    const Environment& settings = environment();
    if (settings.has_held_bytes) return settings.held_bytes;
    static std::atomic<uint64_t> known{0};
    uint64_t bytes = known.load(std::memory_order_relaxed);
    if (bytes == 0) {
        bytes = std::max(environment_queue_bytes() / 4, uint64_t{1});
        known.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
}

uint32_t environment_writers() {
    const Environment& settings = environment();
    if (settings.writers != 0) return settings.writers;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return kMaxDefaultWriters;
    return std::clamp(static_cast<uint32_t>(CPU_COUNT(&allowed)), uint32_t{1}, kMaxDefaultWriters);
}

std::optional<uint64_t> environment_min_free() {
    const Environment& settings = environment();
    return settings.has_min_free ? std::optional<uint64_t>(settings.min_free) : std::nullopt;
}

bool environment_fsync() { return environment().fsync; }

}  // namespace atbprobe
