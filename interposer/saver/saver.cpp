#include "saver.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "environment.h"
#include "findings.h"
#include "free_space.h"
#include "host_thread.h"
#include "item_writer.h"
#include "log.h"
#include "loss_report.h"
#include "output_tree.h"
#include "row_order.h"
#include "save_queue.h"
#include "stored_tensors.h"

namespace atbprobe {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStallLimit{30'000};
constexpr milliseconds kQuietDrain{1'000};
constexpr milliseconds kNoLimit{24 * 3600 * 1000};

LogOnce g_said_ready;
LogOnce g_said_no_folder;
LogOnce g_said_no_writers;

std::atomic<bool> g_is_drained{false};

class Saver {
  public:
    void announce();
    void save(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row);
    void drain();

    RowOrder* rows() { return &rows_; }
    LossReport* losses() { return &losses_; }

  private:
    enum class Writers { kNone, kStarting, kStarted, kImpossible };

    static void* writer_main(void* self);
    bool start_writers();
    ItemWriter make_writer() { return ItemWriter(&tree_, &stored_, &space_, &rows_, &losses_, queue_.progress()); }
    void carry_out(ItemWriter* writer, SaveItem* item);
    void write_directly(SaveItem* item);

    OutputTree tree_;
    StoredTensors stored_;
    FreeSpace space_;
    LossReport losses_;
    RowOrder rows_{&tree_, &losses_};
    SaveQueue queue_{environment_queue_bytes(), kStallLimit};
    std::atomic<Writers> writers_{Writers::kNone};
};

void Saver::announce() {
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

void* Saver::writer_main(void* self) {
    auto* saver = static_cast<Saver*>(self);
    // A new thread has the floating-point mode of the one that started it.
    const DefaultFloats floats;
    ItemWriter writer = saver->make_writer();
    for (;;) saver->carry_out(&writer, saver->queue_.take());
}

// True if there are writers, or are about to be. They never end: at the end of the process there is nothing that they
// hold, and to wait for them would only be one more thing to hang at.
bool Saver::start_writers() {
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
void Saver::carry_out(ItemWriter* writer, SaveItem* item) {
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

void Saver::write_directly(SaveItem* item) {
    const BlockedSignals signals;
    const DefaultFloats floats;
    ItemWriter writer = make_writer();
    queue_.push(item);
    while (SaveItem* next = queue_.take_until_done(item)) carry_out(&writer, next);
    if (item->state != SaveItem::State::kGivenUp) return;
    losses_.count(LossReason::kQueueStalled, 0, item->call.path);
    if (item->row != nullptr) rows_.give_up(item->row);
}

void Saver::save(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row) {
    SaveItem item = borrowed_item(kind, call, order, row);
    if (kind == SaveItem::Kind::kTensor && order.tasks == kTaskStatistics && is_found_faster_than_copied(call)) {
        const DefaultFloats floats;
        item.findings = find_in(call);
        item.call.bytes = 0;
    }
    const uint64_t charge = copy_size(item.call);
    // After the drain nobody would wait for what is still queued.
    if (!g_is_drained.load(std::memory_order_relaxed) && start_writers()) {
        switch (queue_.admit(charge)) {
            case SaveQueue::Admission::kStalled:
                losses_.count(LossReason::kQueueStalled, 0, call.path);
                if (row != nullptr) rows_.give_up(row);
                return;
            case SaveQueue::Admission::kAdmitted: {
                CopiedItem copy = copy_item(item);
                if (copy == nullptr) {
                    queue_.give_back(charge);
                    break;
                }
                copy->charge = charge;
                queue_.push(copy.release());
                return;
            }
            case SaveQueue::Admission::kDirect:
                break;
        }
    }
    write_directly(&item);
}

void Saver::drain() {
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
    if (waited > 0) {
        log_message(LogLevel::kInfo, "callers waited %lld ms in all for room in the queue",
                    static_cast<long long>(waited));
    }
    losses_.say_totals();
}

std::atomic<Saver*> g_saver{nullptr};

// Made at first use, never destroyed; null without memory. Not under a lock, which a fork could leave taken.
Saver* saver() {
    Saver* known = g_saver.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = new (std::nothrow) Saver;
    if (fresh == nullptr || g_saver.compare_exchange_strong(known, fresh)) return fresh;
    delete fresh;
    return known;
}

void count_without_saver() {
    constexpr auto kReason = static_cast<size_t>(LossReason::kOutOfMemory);
    add_relaxed(process_counters().lost[kReason], 1);
}

template <typename Save>
void guarded(std::string_view path, Save save) noexcept {
    const KeptErrno host_errno;
    const NoCancellation cancellation;
    Saver* self = saver();
    if (self == nullptr) {
        count_without_saver();
        return;
    }
    try {
        save(self);
    } catch (const std::bad_alloc&) {
        self->losses()->count(LossReason::kOutOfMemory, 0, path);
    }
}

}  // namespace

void saver_announce() {
    guarded({}, [](Saver* self) { self->announce(); });
}

void save_tensor(const TensorCall& call, const SaveOrder& given) {
    SaveOrder order = given;
    if ((order.tasks & (kTaskTensor | kTaskStatistics)) == 0) return;
    const TensorPath path = parse_tensor_path(call.path);
    if (path.kind == PathKind::kIgnored) return;
    guarded(call.path, [&](Saver* self) {
        if (path.kind == PathKind::kBad) {
            self->losses()->count(LossReason::kBadPath, 0, call.path);
            return;
        }
        if (order.filter_level == kFilterKernels && is_kernel(path.operations)) order.tasks &= ~kTaskTensor;
        TensorCall readable = call;
        if (call.data == nullptr || order.tasks == 0) readable.bytes = 0;
        self->save(SaveItem::Kind::kTensor, readable, order, self->rows()->enter(path.round));
    });
}

void save_param(std::string_view json, std::string_view path) {
    guarded(path, [&](Saver* self) {
        if (parse_param_path(path).kind == PathKind::kBad) {
            self->losses()->count(LossReason::kBadPath, 0, path);
            return;
        }
        TensorCall call{};
        call.data = json.data();
        call.bytes = json.size();
        call.path = path;
        self->save(SaveItem::Kind::kParam, call, {}, nullptr);
    });
}

void saver_drain() {
    g_is_drained.store(true, std::memory_order_relaxed);
    if (g_saver.load(std::memory_order_acquire) == nullptr) return;
    guarded({}, [](Saver* self) { self->drain(); });
}

// No lock of the parent's is ever looked at again, so none has to be held across the fork.
void saver_after_fork_in_child() {
    g_is_drained.store(false, std::memory_order_relaxed);
    g_saver.store(nullptr, std::memory_order_release);
}

}  // namespace atbprobe
