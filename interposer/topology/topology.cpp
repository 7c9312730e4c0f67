#include "topology.h"

#include <atomic>
#include <exception>
#include <new>

#include "device.h"
#include "graph_files.h"
#include "host_thread.h"
#include "log.h"

namespace atbprobe {
namespace {

LogOnce g_said_out_of_memory;

// Made at first use, never destroyed; replaced in a forked child. Not under a lock, which a fork could leave taken.
std::atomic<GraphFiles*> g_files{nullptr};

GraphFiles* made_files() {
    GraphFiles* known = g_files.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = new GraphFiles;
    if (g_files.compare_exchange_strong(known, fresh)) return fresh;
    delete fresh;
    return known;
}

template <typename Work>
void guarded(Work work) noexcept {
    const KeptErrno host_errno;
    const NoCancellation cancellation;
    const BlockedSignals signals;
    const DefaultFloats floats;
    try {
        work();
    } catch (const std::exception& error) {
        log_once(g_said_out_of_memory, LogLevel::kError, "info/ is incomplete: %s", error.what());
    }
}

}  // namespace

void topology_report(GraphKind kind, std::string_view name, std::string_view json, bool (*is_dumping)()) noexcept {
    keep_reported_graph(kind, current_device(), name, json);
    if (!is_dumping()) return;
    guarded([] { made_files()->write_new(GraphFiles::Retry::kNo); });
}

void topology_dumping_is_on() noexcept {
    if (latest_reported_graph() == nullptr) return;
    guarded([] { made_files()->write_new(GraphFiles::Retry::kYes); });
}

void topology_finish() noexcept {
    GraphFiles* files = g_files.load(std::memory_order_acquire);
    if (files != nullptr) guarded([&] { files->finish(); });
}

void topology_after_fork_in_child() noexcept { g_files.store(nullptr, std::memory_order_release); }

}  // namespace atbprobe
