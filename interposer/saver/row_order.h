// Puts the rows of statistic.csv back into the order in which SaveTensor was entered, however many writers work on
// the tensors.
//
// Each call draws a number of its round when it enters. A finished row waits until all rows with smaller numbers are
// finished too; then whoever finds nobody else at it becomes the appender and writes all rows that are ready, of all
// rounds, until there are none. So rows are written from one place, nobody waits for a file while another writes it,
// and the slower the disk, the more rows go into one write.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "statistic_file.h"

namespace atbprobe {

class RowOrder {
  public:
    struct Round;

    // The place of one row, from entry until it is written or given up.
    struct Place {
        Round* round;
        uint64_t number;
        Place* previous = nullptr;  // in the round's finished places
        Place* next = nullptr;
        StatisticRow row;
    };

    RowOrder(OutputTree* tree, LossReport* losses) : files_(tree, losses) {}

    // Draws the next number of `round`. May throw std::bad_alloc.
    Place* enter(std::string_view round);

    // The row in `place` is complete; an empty one only makes way for those behind it. The place is gone afterwards.
    void finish(Place* place) noexcept;

    // As finish for a place without a row, but never writes: the rows behind it go with the next one that is
    // finished, or with flush.
    void give_up(Place* place) noexcept;

    // Writes what is ready.
    void flush() noexcept;

    struct Round {
        explicit Round(std::string_view name) : file(name) {}

        StatisticFile file;
        uint64_t next_number = 0;
        uint64_t next_row = 0;
        uint64_t outstanding = 0;
        Place* first = nullptr;  // finished places, by number
        Place* last = nullptr;
        bool is_ready = false;
        Round* next_ready = nullptr;
    };

  private:
    void insert_finished(Place* place);
    void append_ready(std::unique_lock<std::mutex>* lock);
    Place* take_ready_rows(Round* round);
    void forget_if_idle(Round* round);

    std::mutex mutex_;
    std::map<std::string, Round, std::less<>> rounds_;
    Round* ready_ = nullptr;
    Round* last_ready_ = nullptr;
    bool is_appending_ = false;
    StatisticFiles files_;  // used by the appender alone
};

}  // namespace atbprobe
