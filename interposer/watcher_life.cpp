#include "watcher_life.h"

#include "clock_nanoseconds.h"
#include "environment.h"
#include "host_thread.h"
#include "log.h"
#include "process_slot.h"

namespace atbprobe {
namespace {

// A watcher gives a sign of life every second. Only when some are missing is /proc asked about it.
constexpr uint64_t kLongestSilence = 3 * kNanosecondsPerSecond;

std::atomic<const ControlHeader*> g_control{nullptr};
std::atomic<uint64_t> g_look_at{0};
std::atomic<bool> g_has_told{false};

// Null while it is alive, or may be.
const char* end_of_watcher(const ControlHeader& control, uint64_t now) {
    const uint64_t heartbeat = control.heartbeat.load(std::memory_order_relaxed);
    if (heartbeat == 0) return nullptr;
    const uint32_t pid = control.watcher_pid.load(std::memory_order_relaxed);
    if (pid == 0) return "was stopped";
    // The coarse clock may be a little behind the one of the heartbeat.
    if (now < heartbeat + kLongestSilence) return nullptr;
    const uint64_t start_time = control.watcher_start_time.load(std::memory_order_relaxed);
    return process_start_time(pid) == start_time ? nullptr : "has died";
}

}  // namespace

void watch_life_of_watcher(const ControlHeader& control) { g_control.store(&control, std::memory_order_release); }

void watcher_life_after_fork_in_child() {
    g_look_at.store(0, std::memory_order_relaxed);
    g_has_told.store(false, std::memory_order_relaxed);
}

void look_after_watcher() {
    const ControlHeader* control = g_control.load(std::memory_order_acquire);
    if (control == nullptr) return;
    const uint64_t now = clock_nanoseconds(CLOCK_MONOTONIC_COARSE);
    uint64_t look_at = g_look_at.load(std::memory_order_relaxed);
    if (now < look_at || !g_look_at.compare_exchange_strong(look_at, now + kNanosecondsPerSecond)) return;
    const KeptErrno kept_errno;
    const NoCancellation no_cancellation;
    const char* end = end_of_watcher(*control, now);
    if (end == nullptr) {
        g_has_told.store(false, std::memory_order_relaxed);
    } else if (!g_has_told.exchange(true)) {
        log_message(LogLevel::kWarning,
                    "the watcher of %s %s: edits are not seen, and the rules that this process has stay in force; "
                    "source load_atb_probe.sh again",
                    environment_config_path(), end);
    }
}

}  // namespace atbprobe
