#include "probe_core.h"

#include "log.h"
#include "model_names.h"
#include "operation_counts.h"
#include "rule_notices.h"
#include "thread_listing.h"
#include "topology/topology.h"
#include "watcher_life.h"

namespace atbprobe {
namespace {

// What the last question has begun or ended.
__attribute__((noinline)) void take_news(ThreadRecord* thread) {
    const uint64_t rules = thread->chain.take_begun_rules();
    if (rules != 0) count_selected(rules);
    count_open(thread);
    // New rules wait for a directory, a listing for every question.
    thread->chain.set_news(thread->has_new_rules || thread->listing != nullptr);
}

// The answers here are those of the rules, and a yes where the thread's listing needs to hear more.
__attribute__((noinline)) bool take_news_of_dir(ThreadRecord* thread, const char* dir, size_t length, bool selected) {
    if (thread->has_new_rules && thread->program != nullptr)
        tell_rules_for_other_devices(*thread->program, dir, length);
    thread->has_new_rules = false;
    take_news(thread);
    if (thread->listing == nullptr) return selected;
    return list_dir(thread, dir, length) || selected;
}

__attribute__((noinline)) bool take_news_of_pass(ThreadRecord* thread, Pass pass, bool wanted) {
    take_news(thread);
    if (thread->listing == nullptr) return wanted;
    return list_pass(thread, pass) || wanted;
}

// About once for each step of the model on this thread.
void at_next_step(const ThreadRecord& thread) {
    look_after_watcher();
    if (thread.rounds.count == kStepsUntilIdle && thread.program != nullptr)
        tell_idle_rules(*thread.program, thread.rounds);
}

__attribute__((noinline)) bool ask_new_dir(ThreadRecord* thread, const char* dir, size_t length) {
    const bool selected = thread->chain.ask_dir(thread->program, dir, length);
    if (__builtin_expect(thread->chain.has_news(), 0)) return take_news_of_dir(thread, dir, length, selected);
    return selected;
}

// At the end of the process, after the host's own exit handlers.
__attribute__((destructor)) void drain_at_exit() {
    if (!process_is_probed()) return;
    if (t_record != &g_no_thread) t_record->chain.close_everything();
    saver_drain();
    topology_finish();
}

}  // namespace

// Takes no new program: it is also asked in the middle of a chain.
bool probe_is_on() noexcept {
    start_process_once();
    return process_is_probed();
}

void setup_done_slowly() noexcept { take_current_program(); }

bool look_up_round(uint64_t round) noexcept {
    ThreadRecord* thread = t_record;
    if (!is_current(*thread)) thread = take_current_program();
    if (thread == &g_no_thread) return false;
    const bool in_range = thread->chain.ask_round(thread->program, thread->generation, round);
    if (thread->rounds.add(round, thread->chain.rules_of_round())) at_next_step(*thread);
    if (hears_bell(*thread)) return list_round(thread, round) || in_range;
    return in_range;
}

bool probe_ask_dir(const char* dir, size_t length) noexcept {
    ThreadRecord* thread = t_record;
    if (__builtin_expect(thread->chain.refuses_again(dir, length), 1)) return false;
    return ask_new_dir(thread, dir, length);
}

bool probe_ask_pass(Pass pass) noexcept {
    ThreadRecord* thread = t_record;
    const bool wanted = thread->chain.ask_pass(thread->program, pass);
    if (thread->chain.has_news()) return take_news_of_pass(thread, pass, wanted);
    return wanted;
}

bool probe_ask_param() noexcept { return t_record->chain.ask_param(); }

bool probe_operation_executed() noexcept {
    ThreadRecord* thread = t_record;
    if (__builtin_expect(thread->chain.any_open(), 0)) {
        thread->chain.operation_executed();
        count_open(thread);
    }
    count_operation(thread);
    return hears_bell(*thread) && list_executed(thread);
}

bool probe_kernel_executed() noexcept {
    ThreadRecord* thread = t_record;
    count_operation(thread);
    return hears_bell(*thread) && list_executed(thread);
}

void probe_report_io(const IoReport& report) noexcept { list_tensors(t_record, report); }

void probe_save_tensor(const TensorCall& call) noexcept {
    const ExecutionChain& chain = t_record->chain;
    if (!chain.owns_tensor(call.path.data(), call.path.size())) return;
    const SaveOrder order = chain.order();
    LimitedOperation* limited = chain.limited();
    if (__builtin_expect(limited != nullptr, 0)) {
        limited->take(call, order.filter_level);
    } else if (order.tasks != 0) {
        save_tensor(call, order);
    }
}

void probe_save_param(std::string_view json, std::string_view path) noexcept {
    if (t_record->chain.owns_param(path.data(), path.size())) save_param(json, path);
}

void probe_report_graph(GraphKind kind, std::string_view name, std::string_view json) noexcept {
    if (probe_is_on()) topology_report(kind, name, json, process_is_dumping);
}

bool probe_ask_model_topology(std::string_view model) noexcept { return probe_is_on() && is_new_model(model); }

}  // namespace atbprobe
