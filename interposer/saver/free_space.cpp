#include "free_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>

#include "environment.h"
#include "log.h"

namespace atbprobe {
namespace {

constexpr std::chrono::milliseconds kLookInterval{250};

// The header of the file, and what of its last block is empty.
constexpr uint64_t kFileOverhead = 4096;

constexpr uint64_t kMaxDefaultReserve = uint64_t{2} << 30U;
constexpr uint64_t kDefaultShare = 20;

}  // namespace

FreeSpace::Room FreeSpace::take(int folder, const std::string& path, uint64_t bytes) {
    const uint64_t needed = bytes + kFileOverhead;
    const std::lock_guard<std::mutex> lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (now >= next_look_) {
        look(folder);
        next_look_ = now + kLookInterval;
    }
    const uint64_t free = free_ - std::min(free_, taken_);
    const uint64_t room = free - std::min(free, reserve_);
    if (is_known_ && room < needed) {
        if (most_refused_ == 0) {
            log_message(LogLevel::kError,
                        "no room for data: %s has %llu bytes free, %llu of them are to stay free (ATBPROBE_MIN_FREE), "
                        "and a tensor has %llu; data that does not fit is left out and counted, statistics go on",
                        path.c_str(), static_cast<unsigned long long>(free), static_cast<unsigned long long>(reserve_),
                        static_cast<unsigned long long>(bytes));
        }
        most_refused_ = std::max(most_refused_, needed);
        return {};
    }
    if (most_refused_ != 0 && room >= most_refused_) {
        most_refused_ = 0;
        log_message(LogLevel::kWarning, "room for data again: %s has %llu bytes free; saving goes on", path.c_str(),
                    static_cast<unsigned long long>(free));
    }
    taken_ += needed;
    in_work_ += needed;
    return {this, needed};
}

// With a reserve of 0 nothing is asked, and only a write can tell. So it is with file systems without a size (tmpfs
// with size=0, some network ones).
void FreeSpace::look(int folder) {
    const std::optional<uint64_t> chosen = environment_min_free();
    struct statvfs status;
    is_known_ = chosen != 0U && fstatvfs(folder, &status) == 0 && status.f_blocks > 0;
    if (!is_known_) return;
    const uint64_t block = status.f_frsize > 0 ? status.f_frsize : status.f_bsize;
    free_ = status.f_bavail * block;
    reserve_ = chosen.value_or(std::min(kMaxDefaultReserve, status.f_blocks * block / kDefaultShare));
    taken_ = in_work_;
}

void FreeSpace::end(uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_work_ -= bytes;
}

}  // namespace atbprobe
