#include "reported_graphs.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "log.h"

namespace atbprobe {
namespace {

constexpr size_t kMaxGraph = size_t{8} << 20U;
constexpr size_t kMaxTotal = size_t{64} << 20U;

std::atomic<const ReportedGraph*> g_latest{nullptr};
std::atomic<size_t> g_total{0};
LogOnce g_said_full;

bool is_listed(const ReportedGraph* from, const ReportedGraph* until, const ReportedGraph& graph) {
    for (; from != until; from = from->earlier) {
        if (from->kind == graph.kind && from->device == graph.device && from->name == graph.name) return true;
    }
    return false;
}

// One piece of memory for the graph and its texts; null if there is none.
ReportedGraph* copy_of(const ReportedGraph& graph) {
    char* memory = static_cast<char*>(malloc(sizeof(ReportedGraph) + graph.name.size() + graph.json.size()));
    if (memory == nullptr) return nullptr;
    char* name = memory + sizeof(ReportedGraph);
    char* json = name + graph.name.size();
    graph.name.copy(name, graph.name.size());
    graph.json.copy(json, graph.json.size());
    return new (memory)
        ReportedGraph{nullptr, graph.kind, graph.device, {name, graph.name.size()}, {json, graph.json.size()}};
}

// Once it is full it stays so, and without one of the models it counts as full: the numbers of a model's nodes depend
// on all models before.
bool has_room_for(const ReportedGraph& graph) {
    size_t size = sizeof graph + graph.name.size() + graph.json.size();
    if (size > kMaxGraph && graph.kind == GraphKind::kLayer) return false;
    if (size > kMaxGraph) size = kMaxTotal + 1;
    return g_total.fetch_add(size, std::memory_order_relaxed) + size <= kMaxTotal;
}

}  // namespace

void keep_reported_graph(GraphKind kind, int32_t device, std::string_view name, std::string_view json) {
    const ReportedGraph graph{nullptr, kind, device, name, json};
    const ReportedGraph* latest = g_latest.load(std::memory_order_acquire);
    if (is_listed(latest, nullptr, graph)) return;
    ReportedGraph* copy = has_room_for(graph) ? copy_of(graph) : nullptr;
    if (copy == nullptr) {
        log_once(g_said_full, LogLevel::kWarning, "no room for the graph of %.*s (%zu bytes): info/ will be incomplete",
                 static_cast<int>(name.size()), name.data(), json.size());
        return;
    }
    const ReportedGraph* checked = nullptr;
    do {
        if (is_listed(latest, checked, *copy)) {
            free(copy);
            return;
        }
        checked = latest;
        copy->earlier = latest;
    } while (!g_latest.compare_exchange_weak(latest, copy, std::memory_order_acq_rel));
}

const ReportedGraph* latest_reported_graph() { return g_latest.load(std::memory_order_acquire); }

}  // namespace atbprobe
