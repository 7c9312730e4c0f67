// The rounds whose stored tensors are known. Memory is bounded: about 64 MiB for all rounds together, which is some
// 100,000 tensors, and no more than 64 rounds. The ones not used for longest are forgotten first; tensors for which
// there is no room even so are stored whole. A round that was forgotten is taken up again as incomplete.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "stored_round.h"

namespace atbprobe {

class StoredTensors {
  public:
    // Keeps a round from being forgotten.
    class Use {
      public:
        Use(StoredTensors* owner, StoredRound* round) : owner_(owner), round_(round) {}
        ~Use() {
            if (round_ != nullptr) owner_->release(round_);
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        // Null if the round cannot be tracked.
        StoredRound* round() const { return round_; }

      private:
        StoredTensors* owner_;
        StoredRound* round_;
    };

    // `tree` is where the round's folder lies now; what was known of it elsewhere counts no more.
    Use use(std::string_view round, const std::shared_ptr<DataFolder>& tree);

    // Whether there may be references: else nothing can be broken by replacing a file. To be set before the first file
    // that may become a home is written.
    bool may_have_references(const DataFolder& tree) const {
        return is_filtering_.load(std::memory_order_relaxed) || tree.has_past();
    }
    void set_filtering() { is_filtering_.store(true, std::memory_order_relaxed); }

  private:
    static constexpr int64_t kMaxBytes = int64_t{64} << 20;
    static constexpr size_t kMaxRounds = 64;
    static constexpr int64_t kRoomForRound = kMaxBytes / 16;

    // Names of forgotten rounds, by their hash: one that was not forgotten may be taken for one that was, which costs a
    // look at its folder, but never the other way round.
    static constexpr size_t kForgottenBits = size_t{1} << 19;

    static size_t forgotten_bit(std::string_view round) {
        return std::hash<std::string_view>()(round) % kForgottenBits;
    }
    void release(StoredRound* round);
    bool forget_oldest();

    std::atomic<bool> is_filtering_{false};
    std::atomic<int64_t> budget_{kMaxBytes};
    std::mutex mutex_;
    std::map<std::string, StoredRound, std::less<>> rounds_;
    std::bitset<kForgottenBits> forgotten_;
    uint64_t uses_ = 0;
};

}  // namespace atbprobe
