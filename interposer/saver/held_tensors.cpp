#include "held_tensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "environment.h"
#include "tensor_saver.h"
#include "whole_file.h"

namespace atbprobe {
namespace {

std::atomic<uint64_t> g_held_bytes{0};

bool take_memory(uint64_t bytes) {
    const uint64_t held = g_held_bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (held + bytes <= environment_held_bytes()) return true;
    g_held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
}

int open_unnamed(int folder) {
    constexpr int kFlags = O_RDWR | O_CLOEXEC;
    constexpr mode_t kMode = 0600;
    const int unnamed = openat(folder, ".", kFlags | O_TMPFILE, kMode);
    if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)) return unnamed;
    char name[64];
    std::snprintf(name, sizeof name, ".atbprobe-%ld-%ld.held", static_cast<long>(getpid()),
                  static_cast<long>(gettid()));
    const int named = open_new_file(folder, name, kFlags, kMode);
    if (named >= 0) unlinkat(folder, name, 0);
    return named;
}

// Calls `move(done, left)`, a read or a write of the rest, until all of it is through. 0 or an errno.
template <typename Move>
int move_fully(const FileDescriptor& file, uint64_t bytes, const Move& move) {
    for (uint64_t done = 0; done < bytes;) {
        if (!file.is_ours()) return EBADF;
        const ssize_t moved = move(done, bytes - done);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return moved < 0 ? errno : EIO;
        done += static_cast<uint64_t>(moved);
    }
    return 0;
}

int write_at(const FileDescriptor& file, uint64_t offset, const void* data, uint64_t bytes) {
    return move_fully(file, bytes, [&](uint64_t done, uint64_t left) {
        return pwrite(file.get(), static_cast<const char*>(data) + done, left, static_cast<off_t>(offset + done));
    });
}

int read_at(const FileDescriptor& file, uint64_t offset, void* data, uint64_t bytes) {
    return move_fully(file, bytes, [&](uint64_t done, uint64_t left) {
        return pread(file.get(), static_cast<char*>(data) + done, left, static_cast<off_t>(offset + done));
    });
}

}  // namespace

void forget_held_memory() { g_held_bytes.store(0, std::memory_order_relaxed); }

HeldTensors::Held* HeldTensors::take_first() {
    Held* first = first_;
    first_ = first->next;
    return first;
}

void HeldTensors::release(Held* held) {
    g_held_bytes.fetch_sub(held->memory, std::memory_order_relaxed);
    delete held;
}

void HeldTensors::drop() {
    while (first_ != nullptr) release(take_first());
    file_ = FileDescriptor();
    file_end_ = 0;
}

void HeldTensors::hold(const TensorCall& call, Side side, const SaveOrder& order) noexcept {
    with_saver(call.path, [&](TensorSaver* saver) {
        SaveItem item = borrowed_item(SaveItem::Kind::kTensor, call, order, nullptr);
        if (order.filter_level == kFilterKernels && is_kernel(item.path.operations)) item.order.tasks &= ~kTaskTensor;
        if (call.data == nullptr || item.order.tasks == 0) item.call.bytes = 0;
        auto held = std::make_unique<Held>();
        held->side = side;
        held->bytes = call.bytes;
        if ((item.order.tasks & kTaskTensor) != 0) keep_data(saver, item, held.get());
        if (held->item == nullptr) {
            if (held->data != Data::kInFile && (item.order.tasks & kTaskStatistics) != 0) {
                const DefaultFloats floats;
                item.findings = find_in(item.call);
            }
            item.call.bytes = 0;
            held->item = copy_item(item);
            if (held->item == nullptr) throw std::bad_alloc();
        }
        Held** end = &first_;
        while (*end != nullptr) end = &(*end)->next;
        *end = held.release();
    });
}

void HeldTensors::keep_data(TensorSaver* saver, const SaveItem& item, Held* held) {
    if (item.call.bytes == 0) return;
    const uint64_t memory = copy_size(item.call);
    if (take_memory(memory)) {
        held->memory = memory;
        held->item = copy_item(item);
        if (held->item != nullptr) {
            held->data = Data::kInMemory;
            return;
        }
    }
    write_to_file(saver, item.call, held);
}

void HeldTensors::write_to_file(TensorSaver* saver, const TensorCall& call, Held* held) {
    held->data = Data::kLost;
    const std::shared_ptr<DataFolder> folder = saver->tree()->data_folder(&held->error);
    if (folder == nullptr) return;
    const FreeSpace::Room room = saver->space()->take(folder->descriptor(), folder->path(), call.bytes);
    if (!room.is_there()) {
        held->data = Data::kBelowReserve;
        return;
    }
    const BlockedSignals signals;
    held->error = open_file(folder->descriptor());
    if (held->error == 0) held->error = write_at(file_, file_end_, call.data, call.bytes);
    if (held->error != 0) return;
    held->data = Data::kInFile;
    held->offset = file_end_;
    file_end_ += call.bytes;
}

int HeldTensors::open_file(int folder) {
    if (file_.is_open()) return 0;
    const int number = open_unnamed(folder);
    if (number < 0) return errno;
    file_ = FileDescriptor(number);
    return 0;
}

CopiedItem HeldTensors::read_back(const Held& held, int* error) const {
    SaveItem item = *held.item;
    item.call.bytes = held.bytes;
    std::byte* data = nullptr;
    CopiedItem whole = copy_without_data(item, &data);
    if (whole == nullptr) throw std::bad_alloc();
    *error = read_at(file_, held.offset, data, held.bytes);
    return *error == 0 ? std::move(whole) : nullptr;
}

// The item to be saved; without its data, and the loss counted, where that is gone.
CopiedItem HeldTensors::with_data(TensorSaver* saver, Held* held) {
    if (held->data == Data::kInFile) {
        CopiedItem whole = read_back(*held, &held->error);
        if (whole != nullptr) return whole;
        held->data = Data::kLost;
    }
    if ((held->item->order.tasks & kTaskTensor) != 0) {
        if (held->data == Data::kBelowReserve) saver->losses()->count_silently(LossReason::kBelowReserve);
        if (held->data == Data::kLost) saver->losses()->count_error(held->error, held->item->call.path);
    }
    return std::move(held->item);
}

void HeldTensors::save_in(TensorSaver* saver, Held* held, uint32_t tasks) {
    SaveItem& waiting = *held->item;
    waiting.order.tasks &= tasks;
    if (waiting.path.kind == PathKind::kBad) {
        saver->losses()->count(LossReason::kBadPath, 0, waiting.call.path);
        return;
    }
    CopiedItem item = with_data(saver, held);
    item->row = saver->rows()->enter(item->path.round);
    if (held->data == Data::kLost || held->data == Data::kBelowReserve) {
        item->row->row.is_lost = (item->order.tasks & kTaskTensor) != 0;
        item->order.tasks &= ~kTaskTensor;
    }
    saver->save_copy(std::move(item));
}

void HeldTensors::save(Held* held, uint32_t tasks) noexcept {
    if (tasks != 0) {
        with_saver(held->item->call.path, [&](TensorSaver* saver) { save_in(saver, held, tasks); });
    }
    release(held);
}

}  // namespace atbprobe
