#include "loss_report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "log.h"

namespace atbprobe {
namespace {

constexpr size_t kReasons = std::size(kLossReasonNames);

LogOnce g_said[kReasons];

}  // namespace

void LossReport::count_silently(LossReason reason) {
    const auto index = static_cast<size_t>(reason);
    lost_[index].fetch_add(1, std::memory_order_relaxed);
    add_relaxed(process_counters().lost[index], 1);
}

void LossReport::count(LossReason reason, int error, std::string_view what) {
    count_silently(reason);
    const auto index = static_cast<size_t>(reason);
    char detail[128] = "";
    if (error != 0) {
        char text[96];
        std::snprintf(detail, sizeof detail, ", %s", strerror_r(error, text, sizeof text));
    }
    log_once(g_said[index], LogLevel::kError,
             "lost (%s%s): %.*s; more losses for this reason are counted, not said one by one", kLossReasonNames[index],
             detail, static_cast<int>(what.size()), what.data());
}

void LossReport::count_error(int error, std::string_view what) {
    const bool is_full = error == ENOSPC || error == EDQUOT;
    count(is_full ? LossReason::kNoSpace : LossReason::kWriteFailed, error, what);
}

void LossReport::say_totals() const {
    char text[320] = "";
    size_t used = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < kReasons; ++i) {
        const uint64_t lost = lost_[i].load(std::memory_order_relaxed);
        if (lost == 0) continue;
        total += lost;
        used += static_cast<size_t>(std::snprintf(text + used, sizeof text - used, "%s %s %llu", used > 0 ? "," : "",
                                                  kLossReasonNames[i], static_cast<unsigned long long>(lost)));
    }
    if (total == 0) return;
    log_message(LogLevel::kError, "%llu of the selected tensors and parameters are not on disk:%s",
                static_cast<unsigned long long>(total), text);
}

}  // namespace atbprobe
