#include "operation_counts.h"

namespace atbprobe {
namespace {

// A lane that one thread alone writes to needs no locked addition.
template <typename Number>
void add(const ThreadRecord& thread, std::atomic<Number>& counter, Number amount) {
    if (thread.lane_is_shared) {
        counter.fetch_add(amount, std::memory_order_release);
    } else {
        counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_release);
    }
}

}  // namespace

void count_operation(ThreadRecord* thread) {
    if (thread->lane != nullptr) add(*thread, thread->lane->ops_seen, uint64_t{1});
}

void count_selected(uint64_t rules) {
    add_relaxed(process_counters().ops_selected, 1);
    count_hits(rules);
}

void count_hits(uint64_t rules) {
    ProcessCounters& counters = process_counters();
    for (; rules != 0; rules &= rules - 1) add_relaxed(counters.hits[__builtin_ctzll(rules)], 1);
}

void store_open_operations(ThreadRecord* thread) {
    if (thread->lane == nullptr) return;
    const auto open = static_cast<int64_t>(thread->chain.operations_open());
    add(*thread, thread->lane->ops_open, open - thread->open_in_lane);
    thread->open_in_lane = open;
}

void move_to_lane(ThreadRecord* thread, CounterLane* lane, bool is_shared) {
    if (thread->lane != nullptr) add(*thread, thread->lane->ops_open, -thread->open_in_lane);
    thread->lane = lane;
    thread->lane_is_shared = is_shared;
    thread->open_in_lane = 0;
    store_open_operations(thread);
}

}  // namespace atbprobe
