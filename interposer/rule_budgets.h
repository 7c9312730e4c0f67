// What the rules of one program have kept so far, for those that end: with a number of operations (`stop_after`) or of
// bytes (`max_bytes`).
//
// Shared by all threads without a lock. A rule that has ended takes nothing more under its program; what it had begun
// is finished.
#pragma once

#include <atomic>
#include <cstdint>

#include "program_verifier.h"

namespace atbprobe {

class RuleBudgets {
  public:
    uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }

    // Counts an operation for each of `rules`, and returns those of them that still keep it.
    uint64_t keep_operation(const ProgramView& program, uint64_t rules);

    // Counts a tensor whose data is kept for `rules`.
    void keep_data(const ProgramView& program, uint64_t rules, uint64_t bytes);

    // Those of `rules` of which this is the first question.
    uint64_t take_untold_kept(uint64_t rules) { return rules & ~told_kept_.fetch_or(rules, std::memory_order_relaxed); }
    uint64_t take_untold_ended(uint64_t rules) {
        return rules & ~told_ended_.fetch_or(rules, std::memory_order_relaxed);
    }

    // Begins anew. Only while no other thread uses it.
    void clear();

  private:
    void end(uint64_t rules) { ended_.fetch_or(rules, std::memory_order_relaxed); }

    static constexpr uint32_t kRules = 64;

    std::atomic<uint64_t> ended_{0};
    std::atomic<uint64_t> told_kept_{0};
    std::atomic<uint64_t> told_ended_{0};
    std::atomic<uint64_t> bytes_of_all_{0};
    std::atomic<uint64_t> operations_[kRules] = {};
    std::atomic<uint64_t> bytes_[kRules] = {};
};

// Whether the rules of a program have to be looked at for more than the tasks of their operations.
inline bool needs_budgets(const ProgramView& program) {
    const uint64_t rules = program.conditional_rules | program.rules_that_end | program.rules_with_tensor_limit;
    return (rules | program.program->max_bytes) != 0;
}

}  // namespace atbprobe
