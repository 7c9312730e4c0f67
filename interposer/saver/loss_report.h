// What was selected and is not on disk: counted for each reason, said once for each reason when it first happens, and
// once more with numbers at the end of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "process_counters.h"

namespace atbprobe {

class LossReport {
  public:
    // `what` is the path as the host gave it; `error` an errno, or 0.
    void count(LossReason reason, int error, std::string_view what);

    // For a reason that has been said at its cause.
    void count_silently(LossReason reason);

    // kNoSpace or kWriteFailed.
    void count_error(int error, std::string_view what);

    // One line, if anything was lost.
    void say_totals() const;

  private:
    std::atomic<uint64_t> lost_[static_cast<uint32_t>(LossReason::kCount)] = {};
};

}  // namespace atbprobe
