#include "rule_budgets.h"

#include <initializer_list>

namespace atbprobe {

uint64_t RuleBudgets::keep_operation(const ProgramView& program, uint64_t rules) {
    uint64_t kept = rules & ~ended();
    for (uint64_t rest = kept & program.rules_that_end; rest != 0; rest &= rest - 1) {
        const auto rule = static_cast<uint32_t>(__builtin_ctzll(rest));
        const uint64_t most = program.actions[rule].stop_after;
        if (most == 0) continue;
        const uint64_t before = operations_[rule].fetch_add(1, std::memory_order_relaxed);
        if (before >= most) kept &= ~(rest & -rest);
        if (before + 1 >= most) end(rest & -rest);
    }
    return kept;
}

void RuleBudgets::keep_data(const ProgramView& program, uint64_t rules, uint64_t bytes) {
    if (rules == 0) return;
    for (uint64_t rest = rules & program.rules_that_end; rest != 0; rest &= rest - 1) {
        const auto rule = static_cast<uint32_t>(__builtin_ctzll(rest));
        const uint64_t most = program.actions[rule].max_bytes;
        if (most == 0) continue;
        const uint64_t before = bytes_[rule].fetch_add(bytes, std::memory_order_relaxed);
        if (before + bytes >= most) end(rest & -rest);
    }
    const uint64_t most_of_all = program.program->max_bytes;
    if (most_of_all == 0) return;
    const uint64_t before = bytes_of_all_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes >= most_of_all) end(program.program->enabled_rules);
}

void RuleBudgets::clear() {
    for (auto* number : {&ended_, &told_kept_, &told_ended_, &bytes_of_all_})
        number->store(0, std::memory_order_relaxed);
    for (auto& number : operations_) number.store(0, std::memory_order_relaxed);
    for (auto& number : bytes_) number.store(0, std::memory_order_relaxed);
}

}  // namespace atbprobe
