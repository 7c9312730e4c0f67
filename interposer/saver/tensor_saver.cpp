#include "tensor_saver.h"

#include <pthread.h>

#include <chrono>
#include <cstring>

#include "findings.h"
#include "log.h"

namespace atbprobe {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kQuietDrain{1'000};
constexpr milliseconds kNoLimit{24 * 3600 * 1000};

LogOnce g_said_ready;
LogOnce g_said_no_folder;
LogOnce g_said_no_writers;

std::atomic<TensorSaver*> g_saver{nullptr};
std::atomic<bool> g_is_drained{false};

}  // namespace

// Not under a lock, which a fork could leave taken.
TensorSaver* TensorSaver::get() {
    TensorSaver* known = g_saver.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = new (std::nothrow) TensorSaver;
    if (fresh == nullptr || g_saver.compare_exchange_strong(known, fresh)) return fresh;
    delete fresh;
    return known;
}

TensorSaver* TensorSaver::get_if_made() { return g_saver.load(std::memory_order_acquire); }

void TensorSaver::close() { g_is_drained.store(true, std::memory_order_relaxed); }

// No lock of the parent's is ever looked at again, so none has to be held across the fork.
void TensorSaver::forget() {
    g_is_drained.store(false, std::memory_order_relaxed);
    g_saver.store(nullptr, std::memory_order_release);
}

void TensorSaver::announce() {
    int error = 0;
    if (tree_.data_folder(&error) == nullptr) {
        char text[96];
        log_once(g_said_no_folder, LogLevel::kError, "cannot use %s: %s", tree_.path().c_str(),
                 strerror_r(error, text, sizeof text));
        return;
    }
    log_once(g_said_ready, LogLevel::kWarning,
             "Ready to dump ATB data, the running speed of the model will be affected");
}

void* TensorSaver::writer_main(void* self) {
    auto* saver = static_cast<TensorSaver*>(self);
    // A new thread has the floating-point mode of the one that started it.
    const DefaultFloats floats;
    ItemWriter writer = saver->make_writer();
    for (;;) saver->carry_out(&writer, saver->queue_.take());
}

// True if there are writers, or are about to be. They never end: at the end of the process there is nothing that they
// hold, and to wait for them would only be one more thing to hang at.
bool TensorSaver::start_writers() {
    Writers state = writers_.load(std::memory_order_acquire);
    if (state == Writers::kNone && writers_.compare_exchange_strong(state, Writers::kStarting)) {
        const BlockedSignals writers_take_no_signals;
        pthread_attr_t detached;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        uint32_t started = 0;
        int error = 0;
        for (; started < environment_writers(); ++started) {
            pthread_t thread;
            error = pthread_create(&thread, &detached, writer_main, this);
            if (error != 0) break;
            pthread_setname_np(thread, "atbprobe-save");
        }
        pthread_attr_destroy(&detached);
        state = started > 0 ? Writers::kStarted : Writers::kImpossible;
        writers_.store(state, std::memory_order_release);
        if (started == 0) {
            char text[96];
            log_once(g_said_no_writers, LogLevel::kWarning,
                     "no writer thread can be started: %s; the model writes by itself",
                     strerror_r(error, text, sizeof text));
        }
    }
    return state != Writers::kImpossible;
}

// And what has waited for it.
void TensorSaver::carry_out(ItemWriter* writer, SaveItem* item) {
    item->next_waiting = nullptr;
    SaveItem* waiting = item;
    while (waiting != nullptr) {
        SaveItem* const now = waiting;
        waiting = now->next_waiting;
        if (!writer->write(now, &waiting)) continue;
        // A borrowed item is gone as soon as its owner knows that it is done.
        CopiedItem copy(now->is_copy ? now : nullptr);
        queue_.finish(now);
    }
}

void TensorSaver::lose_to_stall(std::string_view path, RowOrder::Place* row) {
    losses_.count(LossReason::kQueueStalled, 0, path);
    if (row != nullptr) rows_.give_up(row);
}

void TensorSaver::write_directly(SaveItem* item) {
    const BlockedSignals signals;
    const DefaultFloats floats;
    const Clock::time_point start = Clock::now();
    ItemWriter writer = make_writer();
    // Of two tensors that are the same, the first one is to be the one that is stored.
    if (item->order.filter_level == 0 && queue_.start(item)) {
        carry_out(&writer, item);
    } else {
        queue_.push(item);
    }
    while (SaveItem* next = queue_.take_until_done(item)) carry_out(&writer, next);
    wrote_nanoseconds_.fetch_add((Clock::now() - start).count(), std::memory_order_relaxed);
    if (item->state == SaveItem::State::kGivenUp) lose_to_stall(item->call.path, item->row);
}

// After the drain nobody would wait for what is still queued.
bool TensorSaver::has_writers() { return !g_is_drained.load(std::memory_order_relaxed) && start_writers(); }

template <typename MakeCopy>
bool TensorSaver::hand_over(const SaveItem& item, const MakeCopy& make_copy) {
    if (!has_writers()) return false;
    const uint64_t charge = copy_size(item.call);
    switch (queue_.admit(charge, tree_.is_fast())) {
        case SaveQueue::Admission::kStalled:
            lose_to_stall(item.call.path, item.row);
            return true;
        case SaveQueue::Admission::kAdmitted: {
            CopiedItem copy = make_copy();
            if (copy == nullptr) {
                queue_.give_back(charge);
                return false;
            }
            copy->charge = charge;
            queue_.push(copy.release());
            return true;
        }
        case SaveQueue::Admission::kDirect:
            return false;
    }
    return false;
}

void TensorSaver::save(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row) {
    SaveItem item = borrowed_item(kind, call, order, row);
    if (kind == SaveItem::Kind::kTensor && order.tasks == kTaskStatistics && is_found_faster_than_copied(call)) {
        const DefaultFloats floats;
        item.findings = find_in(call);
        item.call.bytes = 0;
    }
    if (!hand_over(item, [&] { return copy_item(item); })) write_directly(&item);
}

void TensorSaver::save_copy(CopiedItem copy) {
    if (hand_over(*copy, [&] { return std::move(copy); })) return;
    copy->is_copy = false;  // it is ours until the end
    write_directly(copy.get());
}

void TensorSaver::drain() {
    queue_.close();
    if (writers_.load(std::memory_order_acquire) == Writers::kImpossible) {
        ItemWriter writer = make_writer();
        while (SaveItem* item = queue_.take_if_any()) carry_out(&writer, item);
    }
    bool timed_out = false;
    bool is_drained = queue_.wait_drained(kQuietDrain, &timed_out);
    if (timed_out) {
        const SaveQueue::Content left = queue_.content();
        log_message(LogLevel::kWarning, "the process ends as soon as %llu tensors (%llu bytes) are written",
                    static_cast<unsigned long long>(left.items), static_cast<unsigned long long>(left.bytes));
        is_drained = queue_.wait_drained(kNoLimit, &timed_out);
    }
    if (is_drained) {
        rows_.flush();
    } else {
        for (uint64_t left = queue_.content().items; left > 0; --left) {
            losses_.count(LossReason::kAtExit, 0, tree_.path());
        }
    }
    const auto waited = std::chrono::duration_cast<milliseconds>(queue_.waited()).count();
    const auto wrote = std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(wrote_nanoseconds_)).count();
    if (waited + wrote > 0) {
        log_message(LogLevel::kInfo,
                    "the model's threads waited %lld ms in all for room in the queue, and wrote tensors for %lld ms",
                    static_cast<long long>(waited), static_cast<long long>(wrote));
    }
    losses_.say_totals();
}

void count_loss_without_saver() {
    constexpr auto kReason = static_cast<size_t>(LossReason::kOutOfMemory);
    add_relaxed(process_counters().lost[kReason], 1);
}

}  // namespace atbprobe
