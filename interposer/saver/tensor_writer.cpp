#include "tensor_writer.h"

#include <optional>

#include "bin_header.h"
#include "process_counters.h"

namespace atbprobe {
namespace {

// Empty tensors are no larger than a reference. An operation whose path lacks an id cannot be named by one.
bool is_filtered(const SaveItem& item) {
    return item.order.filter_level != 0 && item.call.bytes > 0 && has_id_path(item.path.operations);
}

void prepend(SaveItem* items, SaveItem** list) {
    if (items == nullptr) return;
    SaveItem* last = items;
    while (last->next_waiting != nullptr) last = last->next_waiting;
    last->next_waiting = *list;
    *list = items;
}

}  // namespace

TensorWriter::Result TensorWriter::write(SaveItem* item, SaveItem** waiting) {
    Result result;
    result.error = files_.open(item->path);
    if (result.error != 0) return result;
    const std::shared_ptr<DataFolder> tree = files_.tree();
    const FreeSpace::Room room = space_->take(tree->descriptor(), tree->path(), item->call.bytes);
    result.is_below_reserve = !room.is_there();
    if (result.is_below_reserve) return result;
    const bool filtered = is_filtered(*item);
    if (filtered) stored_->set_filtering();
    if (!filtered && !stored_->may_have_references(*tree)) {
        return write_file(item->path, bin_header(item->call), item->call);
    }

    const StoredTensors::Use use = stored_->use(item->path.round, tree);
    if (use.round() == nullptr) return write_file(item->path, bin_header(item->call), item->call);
    Task task{item, waiting, use.round(), file_in_round(item->path), filtered, false, {}};
    if (filtered) {
        task.may_refer = item->order.filter_level == kFilterAllNames || is_plain_file(item->path);
        task.key = content_key(item->call);
    }
    const bool is_unknown =
        !task.round->is_complete() && !task.round->is_recorded(task.file) && files_.exists(item->path);
    if (!is_unknown) {
        const RoundGate::Shared shared(task.round->gate());
        const Attempt done = attempt(task, &result);
        result.waits = done == Attempt::kWaits;
        if (done != Attempt::kNeedsToBeAlone) return result;
    }
    const RoundGate::Alone alone(task.round->gate());
    replace(task, &result);
    return result;
}

TensorWriter::Attempt TensorWriter::attempt(const Task& task, Result* result) {
    if (!task.is_filtered) {
        if (task.round->is_recorded(task.file)) return Attempt::kNeedsToBeAlone;
        write_whole(task, result);
        return Attempt::kDone;
    }
    std::string home;
    switch (task.round->begin(task.file, task.key, task.may_refer, task.item, &home)) {
        case StoredRound::Step::kWaits:
            return Attempt::kWaits;
        case StoredRound::Step::kReplaces:
            return Attempt::kNeedsToBeAlone;
        case StoredRound::Step::kStored:
            return use_stored(task, home, result);
        case StoredRound::Step::kFirst:
            write_first(task, result);
            break;
        case StoredRound::Step::kUntracked:
            write_whole(task, result);
            break;
    }
    return Attempt::kDone;
}

// A home that is not what it should be, because somebody has changed the folder or because two contents have the same
// key, can still be stored beside; but not over a file that is recorded.
TensorWriter::Attempt TensorWriter::use_stored(const Task& task, const std::string& home, Result* result) {
    const SaveItem& item = *task.item;
    if (!files_.holds(task.round->name(), home, item.call)) {
        if (task.round->is_recorded(task.file)) return Attempt::kNeedsToBeAlone;
        write_whole(task, result);
        return Attempt::kDone;
    }
    const std::string reference = reference_to(home);
    const bool refers = home != task.file && task.may_refer && reference.find('\n') == std::string::npos &&
                        task.round->add_reference(task.file, task.key);
    if (refers) {
        result->error = files_.write_reference(item.path, reference_header(item.call, reference), &result->stored_at);
    } else {
        write_whole(task, result);
    }
    return Attempt::kDone;
}

// The file is, or may be, a home with references, or a reference. As long as it is not replaced, an old reference has
// to stay recorded.
void TensorWriter::replace(const Task& task, Result* result) {
    StoredRound* round = task.round;
    if (!round->is_complete()) {
        result->error = files_.make_round_whole(round->name());
        if (result->error != 0) return;
        round->set_without_references();
    }
    for (const std::string& reference : round->references_to(task.file)) {
        result->error = files_.make_whole(round->name(), reference, task.file);
        if (result->error != 0) return;
    }
    const std::optional<ContentKey> referred_to = round->forget(task.file);
    try {
        if (attempt(task, result) != Attempt::kDone) write_whole(task, result);
    } catch (...) {
        if (referred_to) round->add_reference(task.file, *referred_to);
        throw;
    }
    if (result->error != 0 && referred_to) round->add_reference(task.file, *referred_to);
}

void TensorWriter::write_first(const Task& task, Result* result) {
    try {
        write_whole(task, result);
    } catch (...) {
        prepend(task.round->failed(task.key), task.waiting);
        throw;
    }
    prepend(result->error == 0 ? task.round->stored(task.key) : task.round->failed(task.key), task.waiting);
}

void TensorWriter::write_whole(const Task& task, Result* result) {
    Result written = write_file(task.item->path, bin_header(task.item->call), task.item->call);
    result->error = written.error;
    result->stored_at = std::move(written.stored_at);
}

TensorWriter::Result TensorWriter::write_file(const TensorPath& path, std::string_view head, const TensorCall& call) {
    Result result;
    result.error = files_.write(path, head, call, &result.stored_at);
    if (result.error == 0) add_relaxed(process_counters().bytes_saved, call.bytes);
    return result;
}

}  // namespace atbprobe
