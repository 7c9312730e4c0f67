// One thing to be saved: a tensor or a parameter file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "findings.h"
#include "row_order.h"
#include "saver.h"
#include "tensor_path.h"

namespace atbprobe {

struct SaveItem {
    enum class Kind { kTensor, kParam };
    enum class State { kQueued, kInWork, kDone, kGivenUp };

    Kind kind = Kind::kTensor;
    SaveOrder order{};
    TensorCall call{};                 // of a parameter file only `data`, `bytes` and `path`
    TensorPath path;                   // views into call.path
    std::optional<Findings> findings;  // if there already: then the data is not needed
    RowOrder::Place* row = nullptr;
    SaveItem* next_waiting = nullptr;  // for the same file to be in place; see stored_round.h

    // The queue's.
    SaveItem* next = nullptr;
    uint64_t charge = 0;  // bytes reserved for it
    size_t path_key = 0;  // equal for equal paths
    State state = State::kQueued;
    bool is_late = false;  // came after the queue was closed: its caller sees to it, and nobody else waits for it
    bool is_copy = false;
};

// An item that points to the caller's memory.
SaveItem borrowed_item(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row);

// Bytes of memory that a copy of `call` takes.
uint64_t copy_size(const TensorCall& call);

struct SaveItemDeleter {
    void operator()(SaveItem* item) const;
};
using CopiedItem = std::unique_ptr<SaveItem, SaveItemDeleter>;

// A copy of `item`, of its texts and its data, in one piece of memory; null if there is none to be had.
CopiedItem copy_item(const SaveItem& item);

// The same with room for the data, which the caller has to fill: call.bytes from `*data` on.
CopiedItem copy_without_data(const SaveItem& item, std::byte** data);

}  // namespace atbprobe
