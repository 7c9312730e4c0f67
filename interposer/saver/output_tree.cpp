#include "output_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "disk_name.h"
#include "durability.h"
#include "environment.h"
#include "page_cache.h"
#include "process_folder.h"
#include "tensor_path.h"

namespace atbprobe {
namespace {

constexpr mode_t kFolderMode = 0750;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string absolute_path(const char* below_output) {
    std::string path = environment_output_folder();
    if (path.empty() || path.front() != '/') {
        std::string working_folder(PATH_MAX, '\0');
        if (getcwd(working_folder.data(), working_folder.size()) != nullptr) {
            working_folder.resize(std::strlen(working_folder.c_str()));
            path = path.empty() ? working_folder : working_folder + "/" + path;
        }
    }
    path.erase(path.find_last_not_of('/') + 1);
    return path + "/atb_dump_data/" + below_output;
}

// Makes every missing folder on the way. What is wrong shows when the path is opened.
void make_folders(const std::string& path) {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const bool is_new = mkdir(path.substr(0, slash).c_str(), kFolderMode) == 0;
        if (is_new && environment_fsync()) {
            const FileDescriptor parent(::open(path.substr(0, path.rfind('/', slash - 1) + 1).c_str(), kFolderFlags));
            if (parent.is_open()) make_names_durable(parent.get());
        }
        if (slash == std::string::npos) return;
    }
}

bool is_same_folder(const std::string& path, const FileDescriptor& folder) {
    struct stat by_path;
    return stat(path.c_str(), &by_path) == 0 && folder.is_of(by_path) && folder.is_ours();
}

int open_or_make(int parent, const std::string& name, FileDescriptor* folder) {
    constexpr int kFlags = kFolderFlags | O_NOFOLLOW;
    int number = openat(parent, name.c_str(), kFlags);
    if (number < 0 && errno == ENOENT) {
        if (mkdirat(parent, name.c_str(), kFolderMode) == 0) {
            const int error = make_names_durable(parent);
            if (error != 0) return error;
        } else if (errno != EEXIST) {
            return errno;
        }
        number = openat(parent, name.c_str(), kFlags);
    }
    if (number < 0) return errno;
    *folder = FileDescriptor(number);
    return 0;
}

}  // namespace

int DataFolder::process_folder(std::string_view process, std::string* name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = process_folders_.find(process);
    if (known != process_folders_.end()) {
        *name = known->second;
        return 0;
    }
    bool is_new = true;
    int error = claim_process_folder(folder_.get(), disk_name(process), name, &is_new);
    if (error == 0) error = make_names_durable(folder_.get());
    if (!is_new) has_past_.store(true, std::memory_order_relaxed);
    if (error == 0) process_folders_.emplace(process, *name);
    return error;
}

std::shared_ptr<DataFolder> OutputTree::data_folder(int* error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *error = 0;
    if (data_folder_ != nullptr && is_same_folder(path_, data_folder_->folder())) return data_folder_;
    data_folder_.reset();
    make_folders(path_locked());
    FileDescriptor folder(::open(path_.c_str(), kFolderFlags));
    if (!folder.is_open()) {
        *error = errno;
        return nullptr;
    }
    is_fast_.store(!environment_fsync() && writes_into_memory(folder.get()), std::memory_order_relaxed);
    data_folder_ = std::make_shared<DataFolder>(std::move(folder), path_);
    return data_folder_;
}

const std::string& OutputTree::path() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return path_locked();
}

const std::string& OutputTree::path_locked() {
    if (path_.empty()) path_ = absolute_path(below_output_);
    return path_;
}

int FolderCursor::open(std::string_view folder) {
    int error = 0;
    std::shared_ptr<DataFolder> now = tree_->data_folder(&error);
    if (now == nullptr) {
        forget();
        return error;
    }
    if (now != data_folder_) forget();
    data_folder_ = std::move(now);
    if (depth_ > 0 && folder == folder_ && levels_[depth_ - 1].folder.is_ours()) return 0;

    std::string_view rest = folder;
    const std::string_view process = next_component(&rest);
    std::string disk;
    error = data_folder_->process_folder(process, &disk);
    if (error != 0) return error;
    const std::string below = disk_path(rest);
    if (!below.empty()) disk += "/" + below;
    error = walk_to(disk);
    if (error == ENOENT || error == EBADF) {
        depth_ = 0;
        error = walk_to(disk);
    }
    if (error != 0) {
        depth_ = 0;
        return error;
    }
    folder_ = folder;
    return 0;
}

void FolderCursor::forget() {
    for (Level& level : levels_) level.folder.close();
    depth_ = 0;
}

// Drops the levels that do not lie on the way to `disk_path`.
void FolderCursor::keep_common(const std::string& disk_path) {
    const auto lies_on_way = [&](const Level& level) {
        return disk_path.compare(0, level.path_end, disk_path_, 0, level.path_end) == 0 &&
               (disk_path.size() == level.path_end || disk_path[level.path_end] == '/');
    };
    size_t common = 0;
    while (common < depth_ && lies_on_way(levels_[common])) ++common;
    depth_ = common;
}

int FolderCursor::walk_to(const std::string& disk_path) {
    keep_common(disk_path);
    if (depth_ > 0 && !levels_[depth_ - 1].folder.is_ours()) depth_ = 0;
    disk_path_ = disk_path;
    size_t start = depth_ == 0 ? 0 : levels_[depth_ - 1].path_end + 1;
    while (start < disk_path.size()) {
        const size_t end = std::min(disk_path.find('/', start), disk_path.size());
        const int parent = depth_ == 0 ? data_folder_->descriptor() : levels_[depth_ - 1].folder.get();
        FileDescriptor next;
        const int error = open_or_make(parent, disk_path.substr(start, end - start), &next);
        if (error != 0) return error;
        if (depth_ < kMaxLevels) ++depth_;
        levels_[depth_ - 1].path_end = end;
        levels_[depth_ - 1].folder = std::move(next);
        start = end + 1;
    }
    return 0;
}

}  // namespace atbprobe
