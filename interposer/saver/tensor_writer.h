// Stores tensors, whole or as references to what is stored already. Each thread that writes has one of these;
// stored_round.h tells how they get along.
//
// Before a reference is made its home is read and compared, so whatever has happened to the folder, a reference names
// a file that was there with the same bytes.
#pragma once

#include <string>

#include "free_space.h"
#include "save_item.h"
#include "stored_tensors.h"
#include "tensor_files.h"

namespace atbprobe {

class TensorWriter {
  public:
    TensorWriter(OutputTree* tree, StoredTensors* stored, FreeSpace* space, Progress* progress)
        : files_(tree, progress), stored_(stored), space_(space) {}

    struct Result {
        bool waits = false;  // another writer will carry the item out; it must not be touched any more
        int error = 0;       // an errno
        bool is_below_reserve = false;
        std::string stored_at;
    };

    // Puts the items that have waited for this one in front of `*waiting`, also when it throws.
    Result write(SaveItem* item, SaveItem** waiting);

    // A file that has nothing to do with filter_level, nor with the space that is to stay free.
    Result write_file(const TensorPath& path, std::string_view head, const TensorCall& call);

  private:
    // What is known of the item at hand.
    struct Task {
        SaveItem* item;
        SaveItem** waiting;
        StoredRound* round;
        std::string file;  // below the round's folder
        bool is_filtered;
        bool may_refer;
        ContentKey key;  // if it is filtered
    };
    enum class Attempt { kDone, kWaits, kNeedsToBeAlone };

    Attempt attempt(const Task& task, Result* result);
    Attempt use_stored(const Task& task, const std::string& home, Result* result);
    void replace(const Task& task, Result* result);
    void write_first(const Task& task, Result* result);
    void write_whole(const Task& task, Result* result);

    TensorFiles files_;
    StoredTensors* stored_;
    FreeSpace* space_;
};

}  // namespace atbprobe
