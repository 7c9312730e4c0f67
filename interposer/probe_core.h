// The probe functions in plain pointers and lengths, free of any std::string: compiled once, called by the thin
// probe_entry.cpp, which is compiled for each string ABI. None of them throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execution_chain.h"
#include "ops_listing.h"
#include "probe_process.h"
#include "saver/saver.h"
#include "topology/reported_graphs.h"

namespace atbprobe {

// Whether anything may ever be dumped here: what ATB asks once per operation and remembers.
bool probe_is_on() noexcept;

// The rest of the two questions below, where their answer is not at hand.
bool look_up_round(uint64_t round) noexcept;
void setup_done_slowly() noexcept;

inline void probe_setup_done() noexcept {
    if (!is_current(*t_record)) setup_done_slowly();
}

// Most of what a host asks: here, so that it costs no call.
inline bool probe_ask_round(uint64_t round) noexcept {
    ThreadRecord* thread = t_record;
    const bool is_known = thread->chain.knows_round(control_word_of(*thread), round);
    return __builtin_expect(is_known, 1) ? thread->chain.ask_known_round() : look_up_round(round);
}

bool probe_ask_dir(const char* dir, size_t length) noexcept;
bool probe_ask_pass(Pass pass) noexcept;
bool probe_ask_param() noexcept;

// The host asks these of every operation and kernel, whatever was answered before: at the end of an operation, and
// between the two passes of a kernel. True: it is to report the tensors' types and shapes, which copies none of them.
bool probe_operation_executed() noexcept;
bool probe_kernel_executed() noexcept;
void probe_report_io(const IoReport& report) noexcept;

void probe_save_tensor(const TensorCall& call) noexcept;
void probe_save_param(std::string_view json, std::string_view path) noexcept;

// A graph of the host: of an operation or of a whole model.
void probe_report_graph(GraphKind kind, std::string_view name, std::string_view json) noexcept;

// True the first time that a model of this name asks.
bool probe_ask_model_topology(std::string_view model) noexcept;

}  // namespace atbprobe
