// statistic.csv on disk: one for each round of each process, appended to in whole lines. Beside it, for the tensors
// that have NaN or infinities, anomaly.csv.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "file_descriptor.h"
#include "loss_report.h"
#include "output_tree.h"
#include "whole_file.h"

namespace atbprobe {

struct StatisticRow {
    std::string text;      // with its line break; empty if there is no row to write
    std::string anomaly;   // a row of anomaly.csv, as a rule empty
    bool is_lost = false;  // the tensor's loss is already counted
};

// Rows that are appended with one system call.
class RowBatch {
  public:
    void add(const StatisticRow* row) {
        if (!row->text.empty()) rows_[count_++] = row;
    }
    bool is_full() const { return count_ == rows_.size(); }
    void clear() { count_ = 0; }
    const StatisticRow* const* begin() const { return rows_.data(); }
    const StatisticRow* const* end() const { return rows_.data() + count_; }
    size_t size() const { return count_; }

    static constexpr size_t kMaxRows = 64;

  private:
    std::array<const StatisticRow*, kMaxRows> rows_;
    size_t count_ = 0;
};

class StatisticFile {
  public:
    // `round` is the host's name of the folder, `<device>_<pid>/<setup count>`.
    explicit StatisticFile(std::string_view round) : round_(round) {}

    const std::string& name() const { return round_; }
    bool is_open() const { return file_.is_open(); }

  private:
    friend class StatisticFiles;

    std::string round_;
    FileDescriptor file_;
    std::shared_ptr<DataFolder> opened_in_;
    uint64_t last_use_ = 0;
};

// Keeps the files of the latest rounds open. One thread at a time.
class StatisticFiles {
  public:
    StatisticFiles(OutputTree* tree, LossReport* losses) : cursor_(tree), losses_(losses) {}

    // Appends the batch and clears it: all of its rows or, the file being as before, none, and then those tensors
    // count as lost. `*closed` is set to a file that had to make way.
    void append(StatisticFile* file, RowBatch* batch, StatisticFile** closed) noexcept;

  private:
    static constexpr size_t kMaxOpen = 8;

    int ensure_open(StatisticFile* file, struct stat* status, StatisticFile** closed);
    int write_batch(StatisticFile* file, const RowBatch& batch, StatisticFile** closed);
    int write_anomalies(const std::string& round, const RowBatch& batch);
    int append_lines(const FileDescriptor& file, const struct stat& status, std::string_view header,
                     const RowBatch& batch, std::string StatisticRow::* line);
    void close_file(StatisticFile* file);

    FolderCursor cursor_;
    LossReport* losses_;
    std::array<StatisticFile*, kMaxOpen> open_{};
    uint64_t uses_ = 0;
    Progress progress_{0};
};

}  // namespace atbprobe
