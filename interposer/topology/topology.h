// info/: the graphs of layers and models. What the probe functions call, on the host's own threads; nothing here
// throws.
//
// A graph is kept when it is reported and written when dumping is on: by the thread that reports it, or by the one
// that takes the rules which switch dumping on.
#pragma once

#include <string_view>

#include "reported_graphs.h"

namespace atbprobe {

// `is_dumping` is asked after the graph is kept, so that a thread which switches dumping on meanwhile and this one
// cannot both leave it to the other.
void topology_report(GraphKind kind, std::string_view name, std::string_view json, bool (*is_dumping)()) noexcept;

// New rules are in force in this thread, and dumping is on.
void topology_dumping_is_on() noexcept;

// At the end of the process.
void topology_finish() noexcept;

// In a forked child: it knows the parent's graphs, and its own folder has none of them yet.
void topology_after_fork_in_child() noexcept;

}  // namespace atbprobe
