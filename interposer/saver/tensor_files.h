// The files of one writer: writes them, and compares and links those that are there.
//
// Where a file of the round is meant that the host does not name just now, it is named by its path on disk below the
// round's folder (`1_Attention/before/intensor0.bin`); such a path stands for itself where the host's would be mapped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "output_tree.h"
#include "saver.h"
#include "tensor_path.h"
#include "whole_file.h"

namespace atbprobe {

// The path on disk below the round's folder.
std::string file_in_round(const TensorPath& path);

// What a reference to `file` says: `2_1_outtensor0.bin`.
std::string reference_to(std::string_view file);

class TensorFiles {
  public:
    TensorFiles(OutputTree* tree, Progress* progress) : cursor_(tree), other_cursor_(tree), progress_(progress) {}

    // Functions that return int: 0 or an errno.

    // Opens the folder of `path`, and makes it if need be; to be called before the following ones.
    int open(const TensorPath& path) { return cursor_.open(path.folder); }
    const std::shared_ptr<DataFolder>& tree() const { return cursor_.data_folder(); }
    bool exists(const TensorPath& path) const;
    int write(const TensorPath& path, std::string_view head, const TensorCall& call, std::string* stored_at);
    int write_reference(const TensorPath& path, std::string_view head, std::string* stored_at);

    // Whether `file` holds a tensor of this dtype and shape with these bytes. `call.format` does not count.
    bool holds(std::string_view round, const std::string& file, const TensorCall& call);

    // If `reference` still refers to `home`, it becomes a file with the same data: another name of `home`, or a copy
    // where that cannot be. Either of them missing is no error.
    int make_whole(std::string_view round, const std::string& reference, const std::string& home);

    // The same for every reference in the round's folder.
    int make_round_whole(std::string_view round);

  private:
    int write_pieces(const TensorPath& path, std::string_view head, const void* data, size_t bytes,
                     std::string* stored_at);
    FileDescriptor open_file(std::string_view round, const std::string& file, FolderCursor* cursor, std::string* head);
    int copy(const FileDescriptor& from, size_t offset, const std::string& head, const std::string& name);
    char* buffer();

    FolderCursor cursor_;
    FolderCursor other_cursor_;
    Progress* progress_;
    std::unique_ptr<char[]> buffer_;
};

}  // namespace atbprobe
