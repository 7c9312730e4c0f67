// An open operation that its rules keep only in part, or on a condition.
//
// Rules without a condition keep an operation when it begins, as far as their budgets go. A rule with a condition keeps
// it as soon as one of its outputs meets the condition; until then, tensors that this rule alone would keep, or would
// keep more of, are held back (saver/held_tensors.h). All is decided by the program that the operation was begun under,
// which stays for as long as the operation is open.
#pragma once

#include <cstdint>

#include "program_evaluator.h"
#include "saver/held_tensors.h"
#include "saver/saver.h"

namespace atbprobe {

struct Program;

class LimitedOperation {
  public:
    // Null if no rule of `rules` can keep it any more, and without memory.
    static LimitedOperation* begin(const Program& program, uint64_t rules);

    // The same execution begins once more: what was held of it is not wanted. Returns the rules that keep it already.
    uint64_t begin_again();

    // The rules that keep it so far, and those together with the ones that still may.
    uint64_t kept() const { return kept_; }
    uint64_t rules() const { return kept_ | pending_; }

    // To be asked before the outputs come.
    bool wants_outputs();

    // Saves a tensor, holds it back or leaves it, and sees whether an output meets a condition.
    void take(const TensorCall& call, uint32_t filter_level) noexcept;

    // No more outputs are to come: conditions that were not met will not be.
    void settle();

    // Settles, or drops what is held, and is gone afterwards.
    void close();
    void abandon();

  private:
    LimitedOperation(const Program& program, uint64_t kept, uint64_t pending);
    ~LimitedOperation();

    uint64_t rules_met_by(const TensorCall& call) const;
    void keep(uint64_t rules, const TensorCall& call);
    void save_decided();
    void count_data(Side side, uint64_t bytes);

    const Program& program_;
    uint64_t kept_;
    uint64_t pending_;  // rules with a condition that no output has met
    HeldTensors held_;
};

}  // namespace atbprobe
