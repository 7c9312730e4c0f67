#include "item_writer.h"

#include <exception>
#include <new>

#include "anomaly_row.h"
#include "statistic_row.h"

namespace atbprobe {

bool ItemWriter::write(SaveItem* item, SaveItem** waiting) noexcept {
    try {
        if (item->kind == SaveItem::Kind::kTensor) {
            if (!write_tensor(item, waiting)) return false;
        } else {
            write_param(*item);
        }
    } catch (const std::bad_alloc&) {
        losses_->count(LossReason::kOutOfMemory, 0, item->call.path);
    } catch (const std::exception&) {
        losses_->count(LossReason::kWriteFailed, 0, item->call.path);
    }
    if (item->row != nullptr) rows_->finish(item->row);
    return true;
}

// The statistics of a tensor whose file could not be written are still worth a row; its Tensor Path says that there is
// no file.
bool ItemWriter::write_tensor(SaveItem* item, SaveItem** waiting) {
    const TensorCall& call = item->call;
    TensorWriter::Result result;
    if ((item->order.tasks & kTaskTensor) != 0) {
        result = writer_.write(item, waiting);
        if (result.waits) return false;
        if (result.error != 0) {
            item->row->row.is_lost = true;
            losses_->count_error(result.error, call.path);
        }
        if (result.is_below_reserve) {
            item->row->row.is_lost = true;
            losses_->count_silently(LossReason::kBelowReserve);
        }
    }
    Findings found;
    if (item->findings) {
        found = *item->findings;
    } else if ((item->order.tasks & kTaskStatistics) != 0) {
        found = find_in(call);
    }
    if (found.anomalies.any()) {
        item->row->row.anomaly = anomaly_row(call, item->path, found.anomalies, result.stored_at);
    }
    item->row->row.text = statistic_row(call, item->path, found.statistics, result.stored_at);
    return true;
}

void ItemWriter::write_param(const SaveItem& item) {
    std::string line(static_cast<const char*>(item.call.data), item.call.bytes);
    line += '\n';
    TensorCall call = item.call;
    call.data = line.data();
    call.bytes = line.size();
    const int error = writer_.write_file(item.path, {}, call).error;
    if (error != 0) losses_->count_error(error, item.call.path);
}

}  // namespace atbprobe
