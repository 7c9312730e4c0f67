// The graphs that the host has reported, as it gave them, for the life of the process: dumping may be enabled, and a
// child forked, at any later time.
//
// ATB reports each operation's graph once, so their number is that of the model's operations. All together take no
// more than 64 MiB, and each no more than 8; what goes beyond is left out, with a message. The list only ever grows, at
// its head, and without a lock, which a fork could leave taken.
#pragma once

#include <cstdint>
#include <string_view>

namespace atbprobe {

enum class GraphKind { kLayer, kModel };

struct ReportedGraph {
    const ReportedGraph* earlier;
    GraphKind kind;
    int32_t device;  // of the thread that reported it; negative if unknown
    std::string_view name;
    std::string_view json;
};

// Keeps a copy. A second graph of the same kind, device and name is ignored.
void keep_reported_graph(GraphKind kind, int32_t device, std::string_view name, std::string_view json);

// The latest one, or null.
const ReportedGraph* latest_reported_graph();

}  // namespace atbprobe
