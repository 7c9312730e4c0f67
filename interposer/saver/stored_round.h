// Which tensors of one round are stored, and where: what filter_level has to know.
//
// The first tensor with a content is stored whole, and its file becomes the content's home. One that comes later with
// the same content becomes a reference to that home. While the home is being written, later ones wait as a list that
// hangs from the content, and whoever writes the home carries them out afterwards: no thread waits for another.
//
// A home that is to be replaced by other bytes first gives its own to its references (tensor_files.h). For that its
// writer must be alone in the round: all others hold `gate` shared while they write there.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "content_key.h"
#include "output_tree.h"
#include "save_item.h"

namespace atbprobe {

// A lock that many share or one has alone. Who wants it alone is not overtaken for ever by those who share.
class RoundGate {
  public:
    class Shared {
      public:
        explicit Shared(RoundGate* gate) : lock_(gate->pass(), std::adopt_lock) {}

      private:
        std::shared_lock<std::shared_mutex> lock_;
    };
    class Alone {
      public:
        explicit Alone(RoundGate* gate) : turnstile_(gate->turnstile_), lock_(gate->mutex_) {}

      private:
        std::lock_guard<std::mutex> turnstile_;
        std::lock_guard<std::shared_mutex> lock_;
    };

  private:
    std::shared_mutex& pass() {
        const std::lock_guard<std::mutex> turnstile(turnstile_);
        mutex_.lock_shared();
        return mutex_;
    }

    std::mutex turnstile_;
    std::shared_mutex mutex_;
};

// Files are named by their path on disk below the round's folder.
class StoredRound {
  public:
    // `budget` counts down the memory that all rounds may take.
    StoredRound(std::string name, std::shared_ptr<DataFolder> tree, bool is_complete, std::atomic<int64_t>* budget)
        : name_(std::move(name)), tree_(std::move(tree)), is_complete_(is_complete), budget_(budget) {}
    ~StoredRound() { budget_->fetch_add(taken_, std::memory_order_relaxed); }
    StoredRound(const StoredRound&) = delete;
    StoredRound& operator=(const StoredRound&) = delete;

    const std::string& name() const { return name_; }
    const std::shared_ptr<DataFolder>& tree() const { return tree_; }
    RoundGate* gate() { return &gate_; }

    // False if the folder may hold references that are not recorded here.
    bool is_complete();
    // There are no references in the folder any more.
    void set_without_references();

    // `file` is a home or a reference.
    bool is_recorded(const std::string& file);

    enum class Step {
        kFirst,      // to be stored whole: call `stored` or `failed` afterwards
        kWaits,      // the item hangs from the content; it must not be touched any more
        kStored,     // `*home` should have the content
        kUntracked,  // no memory left to track it: to be stored whole
        kReplaces,   // `file` is recorded with another content
    };
    // A tensor that may not become a reference never waits.
    Step begin(const std::string& file, const ContentKey& key, bool may_refer, SaveItem* item, std::string* home);

    // The first file with a content is in place, or is not. Returns the items that have waited.
    SaveItem* stored(const ContentKey& key);
    SaveItem* failed(const ContentKey& key) noexcept;

    // False if there is no memory left to record it: then it must not be made.
    bool add_reference(const std::string& file, const ContentKey& key);

    // If `file` is a home: its references.
    std::vector<std::string> references_to(const std::string& file);

    // If `file` is a home, its content and its references are forgotten with it; if it is a reference, the result is
    // the key of its content.
    std::optional<ContentKey> forget(const std::string& file);

  private:
    friend class StoredTensors;

    struct Content {
        std::string home;
        bool is_in_place = false;
        SaveItem* waiting = nullptr;
        std::vector<std::string> references;
    };

    bool take_memory(const std::string& file);
    void forget_file(const std::string& file) noexcept;

    const std::string name_;
    const std::shared_ptr<DataFolder> tree_;
    RoundGate gate_;
    std::mutex mutex_;
    bool is_complete_;
    std::map<ContentKey, Content> contents_;
    std::map<std::string, ContentKey> files_;  // homes and references
    std::atomic<int64_t>* budget_;
    int64_t taken_ = 0;

    // Of StoredTensors, under its mutex.
    uint32_t users_ = 0;
    uint64_t last_use_ = 0;
};

}  // namespace atbprobe
