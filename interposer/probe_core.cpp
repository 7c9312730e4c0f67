#include "probe_core.h"

#include "log.h"
#include "model_names.h"
#include "probe_process.h"
#include "topology/topology.h"

namespace atbprobe {
namespace {

void count_begun(ThreadRecord* thread) {
    const uint64_t rules = thread->chain.take_begun_rules();
    if (rules != 0) count_selected(rules);
}

// At the end of the process, after the host's own exit handlers.
__attribute__((destructor)) void drain_at_exit() {
    if (!process_is_probed()) return;
    saver_drain();
    topology_finish();
}

}  // namespace

// Takes no new program: it is also asked in the middle of a chain.
bool probe_is_on() noexcept {
    start_process_once();
    return process_is_probed();
}

void probe_setup_done() noexcept {
    ThreadRecord* thread = thread_record();
    if (thread != nullptr) refresh(thread);
}

bool probe_ask_round(uint64_t round) noexcept {
    ThreadRecord* thread = thread_record();
    if (thread == nullptr) return false;
    refresh(thread);
    return thread->chain.ask_round(thread->program, round);
}

bool probe_ask_dir(const char* dir, size_t length) noexcept {
    ThreadRecord* thread = thread_record();
    if (thread == nullptr) return false;
    const bool granted = thread->chain.ask_dir(thread->program, dir, length);
    if (granted) count_begun(thread);
    return granted;
}

bool probe_ask_pass(Pass pass) noexcept {
    ThreadRecord* thread = thread_record();
    if (thread == nullptr) return false;
    const bool granted = thread->chain.ask_pass(thread->program, pass);
    if (granted) count_begun(thread);
    return granted;
}

bool probe_ask_param() noexcept {
    const ThreadRecord* thread = thread_record();
    return thread != nullptr && thread->chain.ask_param();
}

void probe_operation_executed() noexcept {
    ThreadRecord* thread = thread_record();
    if (thread != nullptr) count_operation(thread);
}

void probe_save_tensor(const TensorCall& call) noexcept {
    const ThreadRecord* thread = thread_record();
    if (thread == nullptr) return;
    const SaveOrder order = thread->chain.order_for(call.path.data(), call.path.size());
    if (order.tasks != 0) save_tensor(call, order);
}

void probe_save_param(std::string_view json, std::string_view path) noexcept {
    const ThreadRecord* thread = thread_record();
    if (thread != nullptr && thread->chain.owns_param(path.data(), path.size())) save_param(json, path);
}

void probe_report_graph(GraphKind kind, std::string_view name, std::string_view json) noexcept {
    if (probe_is_on()) topology_report(kind, name, json, process_is_dumping);
}

bool probe_ask_model_topology(std::string_view model) noexcept { return probe_is_on() && is_new_model(model); }

}  // namespace atbprobe
