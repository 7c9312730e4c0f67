#include "stored_tensors.h"

#include <tuple>
#include <utility>

namespace atbprobe {

StoredTensors::Use StoredTensors::use(std::string_view name, const std::shared_ptr<DataFolder>& tree) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = rounds_.find(name);
    if (found != rounds_.end() && found->second.tree_ != tree) {
        if (found->second.users_ != 0) return {this, nullptr};
        rounds_.erase(found);
        found = rounds_.end();
    }
    if (found == rounds_.end()) {
        while (rounds_.size() >= kMaxRounds || budget_.load(std::memory_order_relaxed) < kRoomForRound) {
            if (!forget_oldest()) break;
        }
        const std::string text(name);
        const bool is_complete = !tree->has_past() && !forgotten_.test(forgotten_bit(name));
        found = rounds_
                    .emplace(std::piecewise_construct, std::forward_as_tuple(text),
                             std::forward_as_tuple(text, tree, is_complete, &budget_))
                    .first;
    }
    StoredRound* round = &found->second;
    ++round->users_;
    round->last_use_ = ++uses_;
    return {this, round};
}

void StoredTensors::release(StoredRound* round) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --round->users_;
}

// False if every round is in use.
bool StoredTensors::forget_oldest() {
    auto oldest = rounds_.end();
    for (auto round = rounds_.begin(); round != rounds_.end(); ++round) {
        if (round->second.users_ != 0) continue;
        if (oldest == rounds_.end() || round->second.last_use_ < oldest->second.last_use_) oldest = round;
    }
    if (oldest == rounds_.end()) return false;
    forgotten_.set(forgotten_bit(oldest->first));
    rounds_.erase(oldest);
    return true;
}

}  // namespace atbprobe
