// Carries out one item: file, statistics, row. Each thread that writes has one of these.
#pragma once

#include "loss_report.h"
#include "row_order.h"
#include "save_item.h"
#include "tensor_writer.h"

namespace atbprobe {

class ItemWriter {
  public:
    ItemWriter(OutputTree* tree, StoredTensors* stored, FreeSpace* space, RowOrder* rows, LossReport* losses,
               Progress* progress)
        : writer_(tree, stored, space, progress), rows_(rows), losses_(losses) {}

    // Whatever fails is a counted loss; the row's place is always finished. False if the item has to wait for another
    // one, whose writer carries it out: it must not be touched any more. Items that have waited for this one come in
    // front of `*waiting`.
    bool write(SaveItem* item, SaveItem** waiting) noexcept;

  private:
    bool write_tensor(SaveItem* item, SaveItem** waiting);
    void write_param(const SaveItem& item);

    TensorWriter writer_;
    RowOrder* rows_;
    LossReport* losses_;
};

}  // namespace atbprobe
