// Tensors of one operation that wait until it is known whether they are kept.
//
// All that wait in a process share a bounded piece of memory (ATBPROBE_HELD_BYTES). What does not fit goes to a file on
// the output's file system that has no name, so that nothing is left of it whatever dies; each operation that needs one
// has its own, which is gone with it. Data that finds no room there either is lost, which counts only if the tensor is
// kept: its statistics are computed at once.
#pragma once

#include <cstdint>
#include <memory>

#include "file_descriptor.h"
#include "program_evaluator.h"
#include "save_item.h"

namespace atbprobe {

class TensorSaver;

class HeldTensors {
  public:
    HeldTensors() = default;
    ~HeldTensors() { drop(); }
    HeldTensors(const HeldTensors&) = delete;
    HeldTensors& operator=(const HeldTensors&) = delete;

    // Of the order's tasks all that may be wanted in the end.
    void hold(const TensorCall& call, Side side, const SaveOrder& order) noexcept;

    bool any() const { return first_ != nullptr; }

    // Asks `decide(side, bytes, &tasks)` of one tensor after the other, in the order in which they came, and saves them
    // as `tasks` ask, with 0 dropped. From the first one on of which it says false they all go on waiting.
    template <typename Decide>
    void save_decided(Decide decide) {
        for (uint32_t tasks = 0; first_ != nullptr && decide(first_->side, first_->bytes, &tasks);) {
            save(take_first(), tasks);
        }
    }

    void drop();

  private:
    enum class Data { kNone, kInMemory, kInFile, kLost, kBelowReserve };

    struct Held {
        Held* next = nullptr;
        Side side = Side::kInput;
        uint64_t bytes = 0;  // as the host gave them
        Data data = Data::kNone;
        uint64_t offset = 0;  // in the file
        int error = 0;        // by which it was lost
        uint64_t memory = 0;  // taken of what all share
        CopiedItem item;
    };

    Held* take_first();
    static void release(Held* held);
    void keep_data(TensorSaver* saver, const SaveItem& item, Held* held);
    void write_to_file(TensorSaver* saver, const TensorCall& call, Held* held);
    int open_file(int folder);
    CopiedItem read_back(const Held& held, int* error) const;
    CopiedItem with_data(TensorSaver* saver, Held* held);
    void save(Held* held, uint32_t tasks) noexcept;
    void save_in(TensorSaver* saver, Held* held, uint32_t tasks);

    Held* first_ = nullptr;
    FileDescriptor file_;
    uint64_t file_end_ = 0;
};

// In a forked child: what the parent holds is not the child's.
void forget_held_memory();

}  // namespace atbprobe
