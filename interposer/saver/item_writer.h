// Carries out one item: statistics, file, row. Each thread that writes has one of these.
#pragma once

#include "loss_report.h"
#include "output_tree.h"
#include "row_order.h"
#include "save_item.h"
#include "whole_file.h"

namespace atbprobe {

class ItemWriter {
  public:
    ItemWriter(OutputTree* tree, RowOrder* rows, LossReport* losses, Progress* progress)
        : cursor_(tree), rows_(rows), losses_(losses), progress_(progress) {}

    // Whatever fails is a counted loss; the row's place is always finished.
    void write(const SaveItem& item) noexcept;

  private:
    void write_tensor(const SaveItem& item);
    void write_param(const SaveItem& item);
    int write_file(const TensorPath& path, const std::string& head, const TensorCall& call, std::string* stored_at);

    FolderCursor cursor_;
    RowOrder* rows_;
    LossReport* losses_;
    Progress* progress_;
};

}  // namespace atbprobe
