// Keeps some of the output's file system free: the model, and whoever shares the disk with it, needs room too.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace atbprobe {

// One for all writers of a process. The file system is asked a few times a second at most; in between, what the writers
// have begun counts as taken.
class FreeSpace {
  public:
    // Room for one file, from before it is written until after.
    class Room {
      public:
        Room() = default;
        Room(FreeSpace* space, uint64_t bytes) : space_(space), bytes_(bytes) {}
        Room(const Room&) = delete;
        Room& operator=(const Room&) = delete;
        ~Room() {
            if (space_ != nullptr) space_->end(bytes_);
        }

        bool is_there() const { return space_ != nullptr; }

      private:
        FreeSpace* space_ = nullptr;
        uint64_t bytes_ = 0;
    };

    // For a file with `bytes` of data on the file system of the open folder `folder`, which messages call `path`. The
    // first file that finds no room is worth a message, and so is that there is room again for the largest of them.
    Room take(int folder, const std::string& path, uint64_t bytes);

  private:
    using Clock = std::chrono::steady_clock;

    void look(int folder);
    void end(uint64_t bytes);

    std::mutex mutex_;
    Clock::time_point next_look_{};
    bool is_known_ = false;  // false where the file system does not tell, and where nobody wants to know
    uint64_t free_ = 0;      // at the last look
    uint64_t reserve_ = 0;
    uint64_t taken_ = 0;  // since the last look, and by files that were being written then
    uint64_t in_work_ = 0;
    uint64_t most_refused_ = 0;  // since there was no room; 0: there is
};

}  // namespace atbprobe
