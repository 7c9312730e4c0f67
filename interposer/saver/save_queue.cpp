#include "save_queue.h"

#include <algorithm>

#include "log.h"
#include "process_counters.h"

namespace atbprobe {
namespace {

// Copies of large items that wait, or are in work, so that the writers have something to do meanwhile.
constexpr uint64_t kBacklog = uint64_t{2} << 20U;

// Smaller ones are copied in less time than it takes to make a file, and come in bursts.
constexpr uint64_t kLarge = uint64_t{256} << 10U;

// Of larger ones not even one is copied.
constexpr uint64_t kTooLarge = uint64_t{32} << 20U;

LogOnce g_said_full;

}  // namespace

bool SaveQueue::StallWatch::is_stalled() {
    const uint64_t now = queue_.progress_.load(std::memory_order_relaxed);
    const Clock::time_point time = Clock::now();
    if (now != seen_) {
        seen_ = now;
        since_ = time;
    }
    return time - since_ >= queue_.stall_limit_;
}

// How often a waiting thread looks whether anything moves.
std::chrono::milliseconds SaveQueue::look_interval() const {
    return std::clamp(stall_limit_ / 10, std::chrono::milliseconds(1), std::chrono::milliseconds(1000));
}

SaveQueue::Admission SaveQueue::admit(uint64_t charge, bool is_disk_fast) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_closed_ || charge > capacity_) return Admission::kDirect;
    const bool is_enough = reserved_ >= kBacklog || charge > kTooLarge;
    if (is_disk_fast && charge >= kLarge && is_enough) return Admission::kDirect;
    if (line_ != nullptr || reserved_ > capacity_ - charge) {
        if (!wait_in_line(&lock, charge)) return Admission::kStalled;
        if (is_closed_) return Admission::kDirect;
    }
    set_reserved(reserved_ + charge);
    return Admission::kAdmitted;
}

// Callers are served in the order in which they came, so that a large tensor is not starved by small ones. False
// after a stall.
bool SaveQueue::wait_in_line(std::unique_lock<std::mutex>* lock, uint64_t charge) {
    log_once(g_said_full, LogLevel::kWarning,
             "the queue of %llu bytes is full: from now on the model waits for the disk when need be",
             static_cast<unsigned long long>(capacity_));
    const Clock::time_point start = Clock::now();
    Waiter self;
    (line_end_ == nullptr ? line_ : line_end_->next) = &self;
    line_end_ = &self;
    StallWatch watch(*this);
    const auto is_served = [&] { return is_closed_ || (line_ == &self && reserved_ <= capacity_ - charge); };
    bool served = is_served();
    while (!served && !watch.is_stalled()) served = room_.wait_for(*lock, look_interval(), is_served);

    Waiter* before = nullptr;
    for (Waiter* waiter = line_; waiter != nullptr && waiter != &self; waiter = waiter->next) before = waiter;
    (before == nullptr ? line_ : before->next) = self.next;
    if (line_end_ == &self) line_end_ = before;
    if (line_ != nullptr) room_.notify_all();
    waited_ += Clock::now() - start;
    return served;
}

void SaveQueue::set_reserved(uint64_t bytes) {
    reserved_ = bytes;
    process_counters().bytes_queued.store(bytes, std::memory_order_relaxed);
}

void SaveQueue::give_back(uint64_t charge) {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_reserved(reserved_ - charge);
    if (line_ != nullptr) room_.notify_all();
    if (done_waiters_ > 0) done_.notify_all();
}

void SaveQueue::count_in(SaveItem* item) {
    item->is_late = is_closed_ && item->charge == 0;
    if (!item->is_late) ++items_in_time_;
    ++items_of_path(item);
}

void SaveQueue::count_out(const SaveItem* item) {
    if (!item->is_late) --items_in_time_;
    --items_of_path(item);
}

void SaveQueue::put_in_work(SaveItem* item) {
    item->state = SaveItem::State::kInWork;
    item->next = in_work_;
    in_work_ = item;
}

bool SaveQueue::start(SaveItem* item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (items_of_path(item) != 0) return false;
    count_in(item);
    put_in_work(item);
    return true;
}

void SaveQueue::push(SaveItem* item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    item->next = nullptr;
    item->state = SaveItem::State::kQueued;
    count_in(item);
    (tail_ == nullptr ? head_ : tail_->next) = item;
    tail_ = item;
    work_.notify_one();
}

bool SaveQueue::can_take() const {
    if (head_ == nullptr) return false;
    for (const SaveItem* item = in_work_; item != nullptr; item = item->next) {
        if (item->path_key == head_->path_key) return false;
    }
    return true;
}

SaveItem* SaveQueue::take_head() {
    SaveItem* item = head_;
    head_ = item->next;
    if (head_ == nullptr) tail_ = nullptr;
    put_in_work(item);
    return item;
}

SaveItem* SaveQueue::take() {
    std::unique_lock<std::mutex> lock(mutex_);
    work_.wait(lock, [this] { return can_take(); });
    return take_head();
}

SaveItem* SaveQueue::take_until_done(SaveItem* own) {
    std::unique_lock<std::mutex> lock(mutex_);
    StallWatch watch(*this);
    while (own->state != SaveItem::State::kDone) {
        if (can_take()) return take_head();
        ++done_waiters_;
        done_.wait_for(lock, look_interval());
        --done_waiters_;
        // What is in work reads the caller's memory: there is no leaving before it is through.
        if (watch.is_stalled() && unlink_queued(own)) {
            own->state = SaveItem::State::kGivenUp;
            return nullptr;
        }
    }
    return nullptr;
}

SaveItem* SaveQueue::take_if_any() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return can_take() ? take_head() : nullptr;
}

bool SaveQueue::unlink_queued(const SaveItem* item) {
    SaveItem* before = nullptr;
    SaveItem* at = head_;
    while (at != nullptr && at != item) {
        before = at;
        at = at->next;
    }
    if (at == nullptr) return false;
    (before == nullptr ? head_ : before->next) = at->next;
    if (tail_ == at) tail_ = before;
    count_out(item);
    return true;
}

void SaveQueue::finish(SaveItem* item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    SaveItem** link = &in_work_;
    while (*link != item) link = &(*link)->next;
    *link = item->next;
    item->state = SaveItem::State::kDone;
    count_out(item);
    progress_.fetch_add(1, std::memory_order_relaxed);
    set_reserved(reserved_ - item->charge);
    if (line_ != nullptr) room_.notify_all();
    if (done_waiters_ > 0) done_.notify_all();
    if (can_take()) work_.notify_one();
}

void SaveQueue::close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    room_.notify_all();
}

bool SaveQueue::wait_drained(std::chrono::milliseconds limit, bool* timed_out) {
    std::unique_lock<std::mutex> lock(mutex_);
    StallWatch watch(*this);
    const Clock::time_point end = Clock::now() + limit;
    const auto is_drained = [this] { return items_in_time_ == 0 && reserved_ == 0; };
    *timed_out = false;
    while (!is_drained()) {
        if (watch.is_stalled()) return false;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (left <= std::chrono::milliseconds(0)) {
            *timed_out = true;
            return false;
        }
        ++done_waiters_;
        done_.wait_for(lock, std::min(look_interval(), left));
        --done_waiters_;
    }
    return true;
}

SaveQueue::Content SaveQueue::content() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {items_in_time_, reserved_};
}

std::chrono::nanoseconds SaveQueue::waited() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waited_;
}

}  // namespace atbprobe
