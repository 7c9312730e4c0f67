// The folders below `<output>/atb_dump_data/data/`, or below another folder beside it. From there every path is walked
// component by component without following links, so nothing that lies in the tree can lead a file out of it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "file_descriptor.h"

namespace atbprobe {

// data/ as it was when it was opened.
class DataFolder {
  public:
    DataFolder(FileDescriptor folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

    const FileDescriptor& folder() const { return folder_; }
    int descriptor() const { return folder_.get(); }
    const std::string& path() const { return path_; }

    // Whether files of this very process may lie here that it does not know of: of the program before an exec, or of
    // the time before the folder was moved away and back.
    bool has_past() const { return has_past_.load(std::memory_order_relaxed); }

    // The folder in which this process keeps what the host calls `process`; see process_folder.h. 0 or an errno.
    int process_folder(std::string_view process, std::string* name);

  private:
    FileDescriptor folder_;
    std::string path_;
    std::atomic<bool> has_past_{false};
    std::mutex mutex_;
    std::map<std::string, std::string, std::less<>> process_folders_;
};

// Finds data/ (or `folder`), makes it if need be, and notices when somebody has moved or deleted it since (users clear
// the output folder between experiments while the server runs), or when the host has closed our descriptor.
class OutputTree {
  public:
    // `folder` is relative to `<output>/atb_dump_data/` and must live as long as this.
    explicit OutputTree(const char* folder = "data") : below_output_(folder) {}

    // Null with an errno in `*error` if it cannot be had.
    std::shared_ptr<DataFolder> data_folder(int* error);

    // Absolute; does not touch the disk.
    const std::string& path();

    // Whether a file is written at the speed of memory, as far as is known; see page_cache.h.
    bool is_fast() const { return is_fast_.load(std::memory_order_relaxed); }

  private:
    const std::string& path_locked();

    const char* below_output_;
    std::mutex mutex_;
    std::string path_;
    std::shared_ptr<DataFolder> data_folder_;
    std::atomic<bool> is_fast_{false};
};

// One thread's place in the tree: the folders on the way to the last one opened stay open, since the next tensor
// most often goes to the same or to a neighbouring one.
class FolderCursor {
  public:
    explicit FolderCursor(OutputTree* tree) : tree_(tree) {}

    // Opens, and makes if need be, the folder that the host calls `folder`. 0 or an errno. The descriptor and the
    // disk's name of it are good until the next call.
    int open(std::string_view folder);

    int descriptor() const { return levels_[depth_ - 1].folder.get(); }

    // Absolute, without a slash at the end.
    std::string path() const { return data_folder_->path() + "/" + disk_path_; }

    const std::shared_ptr<DataFolder>& data_folder() const { return data_folder_; }

    // To be called after ENOENT or EBADF in an open folder: it was deleted or closed under our feet.
    void forget();

  private:
    // Enough for all but odd trees; deeper folders share the last level, and are walked again from the one before.
    static constexpr size_t kMaxLevels = 12;

    struct Level {
        size_t path_end = 0;  // in disk_path_
        FileDescriptor folder;
    };

    int walk_to(const std::string& disk_path);
    void keep_common(const std::string& disk_path);

    OutputTree* tree_;
    std::shared_ptr<DataFolder> data_folder_;
    std::string folder_;
    std::string disk_path_;
    std::array<Level, kMaxLevels> levels_;
    size_t depth_ = 0;
};

}  // namespace atbprobe
