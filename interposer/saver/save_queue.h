// Tensors on their way to the writers: first in, first out, bounded in bytes.
//
// Who brings one waits in line until there is room for it. Two items for the same file are never worked on at the
// same time, so that of two saves to one path the later one stays. A thread of the host can lend its hands: it works
// off the queue until its own item is done, which is how a tensor larger than the queue is written, and everything
// once there are no writers.
//
// Where files are written at the speed of memory, the kernel's page cache is buffer enough: large items beyond a short
// backlog are not copied into the queue, but written by who brings them, past what is queued, while the writers work on
// that. So memory stays small, and the more there is to write, the more hands there are.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "save_item.h"
#include "whole_file.h"

namespace atbprobe {

class SaveQueue {
  public:
    // Nobody waits longer than `stall_limit` without any progress at all.
    SaveQueue(uint64_t capacity, std::chrono::milliseconds stall_limit)
        : capacity_(capacity), stall_limit_(stall_limit) {}

    enum class Admission {
        kAdmitted,  // room for `charge` bytes is reserved: push, or give_back
        kDirect,    // never fits, is better not copied, or the queue is closed: start it, or push it without a charge
                    // and lend a hand
        kStalled,
    };
    Admission admit(uint64_t charge, bool is_disk_fast);
    void give_back(uint64_t charge);

    // The item stays linked until it is finished.
    void push(SaveItem* item);

    // Takes an item without a charge past all that is queued: it is in work from now on. False if something in the
    // queue may be for the same file.
    bool start(SaveItem* item);

    // For writers: waits for the next item.
    SaveItem* take();

    // For the thread that pushed `own`: the next item to work on, or null once `own` is done or, after a stall, given
    // up, which `own.state` tells.
    SaveItem* take_until_done(SaveItem* own);

    // The item is carried out and may be freed.
    void finish(SaveItem* item);

    // From now on nothing is admitted.
    void close();

    // For the thread that ends the process: waits until everything that came before `close` is carried out or nothing
    // moves any more; true in the first case. Returns early, false with `*timed_out`, after `limit`. Threads of the
    // host may go on saving meanwhile, for as long as they like.
    bool wait_drained(std::chrono::milliseconds limit, bool* timed_out);

    // For the thread that ends the process when there are no writers: the next item, or null.
    SaveItem* take_if_any();

    struct Content {
        uint64_t items;  // in work included, late ones not
        uint64_t bytes;
    };
    Content content();

    // Time that callers have waited for room, in all.
    std::chrono::nanoseconds waited();

    // Bumped by whoever works on an item at every piece written.
    Progress* progress() { return &progress_; }

  private:
    using Clock = std::chrono::steady_clock;

    struct Waiter {
        Waiter* next = nullptr;
    };

    // Tells when nothing has moved for the stall limit.
    class StallWatch {
      public:
        explicit StallWatch(const SaveQueue& queue) : queue_(queue) {}
        bool is_stalled();

      private:
        const SaveQueue& queue_;
        uint64_t seen_ = queue_.progress_.load(std::memory_order_relaxed);
        Clock::time_point since_ = Clock::now();
    };

    static constexpr size_t kPathCounts = 1024;

    std::chrono::milliseconds look_interval() const;
    void count_in(SaveItem* item);
    void count_out(const SaveItem* item);
    uint32_t& items_of_path(const SaveItem* item) { return path_counts_[item->path_key % kPathCounts]; }
    void put_in_work(SaveItem* item);
    bool can_take() const;
    SaveItem* take_head();
    bool unlink_queued(const SaveItem* item);
    bool wait_in_line(std::unique_lock<std::mutex>* lock, uint64_t charge);
    void set_reserved(uint64_t bytes);

    const uint64_t capacity_;
    const std::chrono::milliseconds stall_limit_;
    Progress progress_{0};

    std::mutex mutex_;
    std::condition_variable room_;  // callers in line
    std::condition_variable work_;  // writers
    std::condition_variable done_;  // those who wait for items to be carried out
    uint32_t done_waiters_ = 0;
    SaveItem* head_ = nullptr;
    SaveItem* tail_ = nullptr;
    SaveItem* in_work_ = nullptr;
    uint64_t items_in_time_ = 0;                       // queued or in work, and not late
    std::array<uint32_t, kPathCounts> path_counts_{};  // items queued or in work, by path
    Waiter* line_ = nullptr;
    Waiter* line_end_ = nullptr;
    uint64_t reserved_ = 0;
    bool is_closed_ = false;
    std::chrono::nanoseconds waited_{0};
};

}  // namespace atbprobe
