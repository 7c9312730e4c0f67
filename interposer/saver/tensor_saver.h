// The parts of the saver of one process, and how a tensor gets to a writer.
#pragma once

#include <atomic>
#include <exception>
#include <new>
#include <string_view>

#include "environment.h"
#include "free_space.h"
#include "host_thread.h"
#include "item_writer.h"
#include "loss_report.h"
#include "output_tree.h"
#include "row_order.h"
#include "save_queue.h"
#include "stored_tensors.h"

namespace atbprobe {

class TensorSaver {
  public:
    // That of this process, made at first use and never destroyed; null without memory.
    static TensorSaver* get();
    static TensorSaver* get_if_made();
    // The process is about to end: what comes from now on is written by its caller.
    static void close();
    // In a forked child: the parent's is not looked at again.
    static void forget();

    void announce();
    void save(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row);
    // The same of a copy, whose memory it takes over.
    void save_copy(CopiedItem copy);
    void drain();

    RowOrder* rows() { return &rows_; }
    LossReport* losses() { return &losses_; }
    OutputTree* tree() { return &tree_; }
    FreeSpace* space() { return &space_; }

  private:
    enum class Writers { kNone, kStarting, kStarted, kImpossible };

    static constexpr std::chrono::milliseconds kStallLimit{30'000};

    static void* writer_main(void* self);
    bool start_writers();
    bool has_writers();
    void lose_to_stall(std::string_view path, RowOrder::Place* row);
    ItemWriter make_writer() { return ItemWriter(&tree_, &stored_, &space_, &rows_, &losses_, queue_.progress()); }
    void carry_out(ItemWriter* writer, SaveItem* item);
    // Hands the copy that `make_copy` gives, null without memory, to the writers, or counts the item as lost. False if
    // it is for the caller to write.
    template <typename MakeCopy>
    bool hand_over(const SaveItem& item, const MakeCopy& make_copy);
    void write_directly(SaveItem* item);

    OutputTree tree_;
    StoredTensors stored_;
    FreeSpace space_;
    LossReport losses_;
    RowOrder rows_{&tree_, &losses_};
    SaveQueue queue_{environment_queue_bytes(), kStallLimit};
    std::atomic<Writers> writers_{Writers::kNone};
    std::atomic<int64_t> wrote_nanoseconds_{0};  // by threads of the host, in all
};

void count_loss_without_saver();

// Calls `save` with the saver of this process, on a thread of the host: nothing is thrown out of it, and the thread is
// as it was afterwards. `path` names what is lost where memory runs out.
template <typename Save>
void with_saver(std::string_view path, Save save) noexcept {
    const KeptErrno host_errno;
    const NoCancellation cancellation;
    TensorSaver* saver = TensorSaver::get();
    if (saver == nullptr) {
        count_loss_without_saver();
        return;
    }
    try {
        save(saver);
    } catch (const std::bad_alloc&) {
        saver->losses()->count(LossReason::kOutOfMemory, 0, path);
    } catch (const std::exception&) {
        saver->losses()->count(LossReason::kWriteFailed, 0, path);
    }
}

}  // namespace atbprobe
