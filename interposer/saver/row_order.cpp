#include "row_order.h"

#include <new>

namespace atbprobe {

RowOrder::Place* RowOrder::enter(std::string_view round_name) {
    auto* place = new Place{};
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = rounds_.find(round_name);
    if (found == rounds_.end()) {
        try {
            found = rounds_.try_emplace(std::string(round_name), round_name).first;
        } catch (...) {
            delete place;
            throw;
        }
    }
    Round& round = found->second;
    place->round = &round;
    place->number = round.next_number++;
    ++round.outstanding;
    return place;
}

void RowOrder::finish(Place* place) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    insert_finished(place);
    if (!is_appending_) append_ready(&lock);
}

void RowOrder::give_up(Place* place) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    place->row = {};
    insert_finished(place);
}

void RowOrder::flush() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!is_appending_) append_ready(&lock);
}

// Rows finish nearly in order, so the place is near the end.
void RowOrder::insert_finished(Place* place) {
    Round* round = place->round;
    Place* before = round->last;
    while (before != nullptr && before->number > place->number) before = before->previous;
    place->previous = before;
    place->next = before == nullptr ? round->first : before->next;
    (place->next == nullptr ? round->last : place->next->previous) = place;
    (before == nullptr ? round->first : before->next) = place;

    if (round->first->number != round->next_row || round->is_ready) return;
    round->is_ready = true;
    round->next_ready = nullptr;
    (last_ready_ == nullptr ? ready_ : last_ready_->next_ready) = round;
    last_ready_ = round;
}

// Unlinks the places whose turn it is; they stay linked among themselves through `next`.
RowOrder::Place* RowOrder::take_ready_rows(Round* round) {
    Place* taken = round->first;
    Place* end = taken;
    while (end != nullptr && end->number == round->next_row) {
        ++round->next_row;
        end = end->next;
    }
    if (end == taken) return nullptr;
    if (end == nullptr) {
        round->last = nullptr;
    } else {
        end->previous->next = nullptr;
        end->previous = nullptr;
    }
    round->first = end;
    return taken;
}

void RowOrder::append_ready(std::unique_lock<std::mutex>* lock) {
    is_appending_ = true;
    while (ready_ != nullptr) {
        Round* round = ready_;
        ready_ = round->next_ready;
        if (ready_ == nullptr) last_ready_ = nullptr;
        round->is_ready = false;
        Place* rows = take_ready_rows(round);
        lock->unlock();

        StatisticFile* closed = nullptr;
        RowBatch batch;
        for (Place* place = rows; place != nullptr; place = place->next) {
            batch.add(&place->row);
            if (batch.is_full() || place->next == nullptr) files_.append(&round->file, &batch, &closed);
        }
        uint64_t written = 0;
        while (rows != nullptr) {
            Place* next = rows->next;
            delete rows;
            rows = next;
            ++written;
        }

        lock->lock();
        round->outstanding -= written;
        if (closed != nullptr) {
            const auto evicted = rounds_.find(closed->name());
            if (evicted != rounds_.end()) forget_if_idle(&evicted->second);
        }
        forget_if_idle(round);
    }
    is_appending_ = false;
}

// A round that nobody works on is kept only as long as its file is open, and files_ keeps few files open.
void RowOrder::forget_if_idle(Round* round) {
    if (round->outstanding != 0 || round->file.is_open()) return;
    rounds_.erase(rounds_.find(round->file.name()));
}

}  // namespace atbprobe
