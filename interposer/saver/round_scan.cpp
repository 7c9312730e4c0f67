#include "round_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "bin_header.h"
#include "file_descriptor.h"
#include "tensor_files.h"

namespace atbprobe {
namespace {

constexpr size_t kMaxHeader = 4096;

}  // namespace

int RoundScan::read(int round) { return read_folder(round, ".", {}); }

// Hidden names are those of files on their way to their final one.
int RoundScan::read_folder(int parent, const char* name, const std::string& path) {
    FileDescriptor opened(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    DIR* folder = opened.is_open() ? fdopendir(opened.get()) : nullptr;
    if (folder == nullptr) return errno == ENOENT ? 0 : errno;
    const int number = opened.release();
    int error = 0;
    errno = 0;
    for (const dirent* entry = readdir(folder); entry != nullptr && error == 0; entry = readdir(folder)) {
        const std::string found = path.empty() ? entry->d_name : path + "/" + entry->d_name;
        if (entry->d_name[0] != '.') {
            error = read_folder(number, entry->d_name, found);
            if (error == ENOTDIR || error == ELOOP) {
                error = 0;
                read_file(number, entry->d_name, found);
            }
        }
        errno = 0;
    }
    if (error == 0) error = errno;
    closedir(folder);
    return error;
}

void RoundScan::read_file(int folder, const char* name, const std::string& path) {
    const FileDescriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open() || path.find('/') == std::string::npos) return;
    head_.resize(kMaxHeader);
    const ssize_t bytes = ::read(file.get(), head_.data(), head_.size());
    if (bytes <= 0) return;
    const BinHeader header = parse_bin_header({head_.data(), static_cast<size_t>(bytes)});
    if (header.length == 0) return;
    if (header.reference.empty()) {
        files_.emplace(reference_to(path), path);
    } else {
        references_.push_back({path, std::string(header.reference)});
    }
}

const std::string* RoundScan::find(const std::string& reference) const {
    const auto found = files_.find(reference);
    return found == files_.end() ? nullptr : &found->second;
}

}  // namespace atbprobe
