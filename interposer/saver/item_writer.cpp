#include "item_writer.h"

#include <cerrno>
#include <new>

#include "bin_header.h"
#include "disk_name.h"
#include "process_counters.h"
#include "statistic_row.h"
#include "statistics.h"

namespace atbprobe {

void ItemWriter::write(const SaveItem& item) noexcept {
    try {
        if (item.kind == SaveItem::Kind::kTensor) {
            write_tensor(item);
        } else {
            write_param(item);
        }
    } catch (const std::bad_alloc&) {
        losses_->count(LossReason::kOutOfMemory, 0, item.call.path);
    }
    if (item.row != nullptr) rows_->finish(item.row);
}

// The statistics of a tensor whose file could not be written are still worth a row; its Tensor Path says that there is
// no file.
void ItemWriter::write_tensor(const SaveItem& item) {
    const TensorCall& call = item.call;
    Statistics statistics;
    if ((item.tasks & kTaskStatistics) != 0) {
        statistics = compute_statistics(data_type(call.dtype), static_cast<const std::byte*>(call.data), call.bytes);
    }
    std::string stored_at;
    if ((item.tasks & kTaskTensor) != 0) {
        const int error = write_file(item.path, bin_header(call), call, &stored_at);
        if (error != 0) {
            item.row->row.is_lost = true;
            losses_->count_error(error, call.path);
        }
    }
    item.row->row.text = statistic_row(call, item.path, statistics, stored_at);
}

void ItemWriter::write_param(const SaveItem& item) {
    std::string line(static_cast<const char*>(item.call.data), item.call.bytes);
    line += '\n';
    TensorCall call = item.call;
    call.data = line.data();
    call.bytes = line.size();
    std::string stored_at;
    const int error = write_file(item.path, {}, call, &stored_at);
    if (error != 0) losses_->count_error(error, item.call.path);
}

int ItemWriter::write_file(const TensorPath& path, const std::string& head, const TensorCall& call,
                           std::string* stored_at) {
    const std::string name = disk_name(path.file);
    const iovec head_piece{const_cast<char*>(head.data()), head.size()};
    const iovec body_piece{const_cast<void*>(call.data), call.bytes};
    int error = cursor_.open(path.folder);
    if (error == 0) error = write_whole_file(cursor_.descriptor(), name, head_piece, body_piece, progress_);
    if (error == ENOENT) {
        cursor_.forget();
        error = cursor_.open(path.folder);
        if (error == 0) error = write_whole_file(cursor_.descriptor(), name, head_piece, body_piece, progress_);
    }
    if (error != 0) return error;
    add_relaxed(process_counters().bytes_saved, call.bytes);
    *stored_at = cursor_.path() + "/" + name;
    return 0;
}

}  // namespace atbprobe
