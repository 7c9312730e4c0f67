#include "statistic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "anomaly_row.h"
#include "durability.h"
#include "process_counters.h"
#include "statistic_row.h"

namespace atbprobe {
namespace {

constexpr const char* kFileName = "statistic.csv";
constexpr const char* kAnomalyFileName = "anomaly.csv";
constexpr int kAppendFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr mode_t kFileMode = 0640;

// Once more if the host has closed the descriptor at this moment.
template <typename Write>
int retried(const Write& write) noexcept {
    try {
        const int error = write();
        return error == EBADF ? write() : error;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::exception&) {
        return EIO;
    }
}

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

void StatisticFiles::append(StatisticFile* file, RowBatch* batch, StatisticFile** closed) noexcept {
    if (batch->size() == 0) return;
    const int error = retried([&] { return write_batch(file, *batch, closed); });
    if (std::any_of(batch->begin(), batch->end(), [](const StatisticRow* row) { return !row->anomaly.empty(); })) {
        const int anomaly_error = retried([&] { return write_anomalies(file->name(), *batch); });
        if (anomaly_error != 0) losses_->count_error(anomaly_error, file->name() + "/" + kAnomalyFileName);
    }
    for (const StatisticRow* row : *batch) {
        if (row->is_lost) continue;
        if (error == 0) {
            add_relaxed(process_counters().tensors_saved, 1);
        } else {
            losses_->count_error(error, file->name() + "/" + kFileName);
        }
    }
    batch->clear();
}

// A file that was deleted or whose tree was moved away since it was opened is opened anew: rows written to it would
// never be found. So is one that the host has closed: rows could end up in a file of its own.
int StatisticFiles::ensure_open(StatisticFile* file, struct stat* status, StatisticFile** closed) {
    int error = cursor_.open(file->round_);
    if (error != 0) return error;
    file->last_use_ = ++uses_;
    if (file->is_open()) {
        if (file->opened_in_ == cursor_.data_folder() && file->file_.read_status(status) && status->st_nlink > 0) {
            return 0;
        }
        close_file(file);
    }
    FileDescriptor opened(openat(cursor_.descriptor(), kFileName, kAppendFlags, kFileMode));
    if (!opened.is_open() && errno == ENOENT) {
        cursor_.forget();
        error = cursor_.open(file->round_);
        if (error != 0) return error;
        opened = FileDescriptor(openat(cursor_.descriptor(), kFileName, kAppendFlags, kFileMode));
    }
    if (!opened.is_open()) return errno;

    auto slot = std::find(open_.begin(), open_.end(), nullptr);
    if (slot == open_.end()) {
        slot = std::min_element(open_.begin(), open_.end(), [](const StatisticFile* a, const StatisticFile* b) {
            return a->last_use_ < b->last_use_;
        });
        *closed = *slot;
        close_file(*slot);
    }
    *slot = file;
    file->file_ = std::move(opened);
    file->opened_in_ = cursor_.data_folder();
    return file->file_.read_status(status) ? 0 : EBADF;
}

int StatisticFiles::write_batch(StatisticFile* file, const RowBatch& batch, StatisticFile** closed) {
    struct stat status;
    int error = ensure_open(file, &status, closed);
    if (error != 0) return error;
    if (!S_ISREG(status.st_mode)) return EINVAL;
    return append_lines(file->file_, status, kStatisticHeader, batch, &StatisticRow::text);
}

// Opened for each batch, since there are few.
int StatisticFiles::write_anomalies(const std::string& round, const RowBatch& batch) {
    const int error = cursor_.open(round);
    if (error != 0) return error;
    const FileDescriptor file(openat(cursor_.descriptor(), kAnomalyFileName, kAppendFlags, kFileMode));
    if (!file.is_open()) return errno;
    struct stat status;
    if (!file.read_status(&status)) return EBADF;
    return append_lines(file, status, kAnomalyHeader, batch, &StatisticRow::anomaly);
}

// All of them or none.
int StatisticFiles::append_lines(const FileDescriptor& file, const struct stat& status, std::string_view header,
                                 const RowBatch& batch, std::string StatisticRow::* line) {
    if (!S_ISREG(status.st_mode)) return EINVAL;
    std::array<iovec, RowBatch::kMaxRows + 1> pieces;
    int count = 0;
    if (status.st_size == 0) pieces[static_cast<size_t>(count++)] = piece_of(header);
    for (const StatisticRow* row : batch) pieces[static_cast<size_t>(count++)] = piece_of(row->*line);
    int error = write_fully(file, pieces.data(), count, &progress_);
    if (error == 0) error = make_durable(file);
    if (error == 0 && status.st_size == 0) error = make_names_durable(cursor_.descriptor());
    if (error != 0 && error != EBADF && ftruncate(file.get(), status.st_size) != 0) return errno;
    return error;
}

void StatisticFiles::close_file(StatisticFile* file) {
    // Network file systems may tell only now that a disk is full: which rows that were nobody knows.
    const int error = file->file_.close();
    if (error != 0 && error != EBADF) losses_->count_error(error, file->name());
    file->opened_in_.reset();
    std::replace(open_.begin(), open_.end(), file, static_cast<StatisticFile*>(nullptr));
}

}  // namespace atbprobe
