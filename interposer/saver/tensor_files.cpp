#include "tensor_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bin_header.h"
#include "disk_name.h"
#include "read_fully.h"
#include "round_scan.h"

namespace atbprobe {
namespace {

constexpr size_t kMaxHeader = 4096;
constexpr size_t kBuffer = size_t{256} << 10;

std::string_view folder_of(std::string_view file) { return file.substr(0, file.rfind('/')); }

std::string name_of(const std::string& file) { return file.substr(file.rfind('/') + 1); }

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

std::string file_in_round(const TensorPath& path) {
    const std::string_view folder = path.folder.substr(path.round.size());
    return disk_path(folder) + "/" + disk_name(path.file);
}

std::string reference_to(std::string_view file) {
    const std::string_view operations = folder_of(folder_of(file));
    return operation_names(operations).ids + "_" + std::string(file.substr(file.rfind('/') + 1));
}

bool TensorFiles::exists(const TensorPath& path) const {
    struct stat status;
    return fstatat(cursor_.descriptor(), disk_name(path.file).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

int TensorFiles::write(const TensorPath& path, std::string_view head, const TensorCall& call, std::string* stored_at) {
    return write_pieces(path, head, call.data, call.bytes, stored_at);
}

int TensorFiles::write_reference(const TensorPath& path, std::string_view head, std::string* stored_at) {
    return write_pieces(path, head, nullptr, 0, stored_at);
}

// The folder may have been deleted since it was opened, or the host may just have closed its descriptor or the file's:
// then once more from the top.
int TensorFiles::write_pieces(const TensorPath& path, std::string_view head, const void* data, size_t bytes,
                              std::string* stored_at) {
    const std::string name = disk_name(path.file);
    const iovec head_piece = piece_of(head);
    const iovec body_piece{const_cast<void*>(data), bytes};
    int error = cursor_.open(path.folder);
    if (error == 0) error = write_whole_file(cursor_.descriptor(), name, head_piece, body_piece, progress_);
    if (error == ENOENT || error == EBADF) {
        cursor_.forget();
        error = cursor_.open(path.folder);
        if (error == 0) error = write_whole_file(cursor_.descriptor(), name, head_piece, body_piece, progress_);
    }
    if (error == 0) *stored_at = cursor_.path() + "/" + name;
    return error;
}

// With the start of the file in `*head`. Not open if there is no such file, or errno says what is wrong with it.
FileDescriptor TensorFiles::open_file(std::string_view round, const std::string& file, FolderCursor* cursor,
                                      std::string* head) {
    const int error = cursor->open(std::string(round) + "/" + std::string(folder_of(file)));
    if (error != 0) {
        errno = error;
        return {};
    }
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    FileDescriptor opened(openat(cursor->descriptor(), name_of(file).c_str(), kFlags));
    if (!opened.is_open()) return opened;
    head->resize(kMaxHeader);
    size_t bytes = 0;
    if (read_fully(opened.get(), head->data(), kMaxHeader, 0, &bytes) != 0) {
        opened = FileDescriptor();
    } else {
        head->resize(bytes);
    }
    return opened;
}

char* TensorFiles::buffer() {
    if (buffer_ == nullptr) buffer_.reset(new char[kBuffer]);
    return buffer_.get();
}

bool TensorFiles::holds(std::string_view round, const std::string& file, const TensorCall& call) {
    std::string head;
    const FileDescriptor opened = open_file(round, file, &other_cursor_, &head);
    if (!opened.is_open()) return false;
    const BinHeader found = parse_bin_header(head);
    TensorCall as_found = call;
    as_found.format = found.format;
    const std::string wanted = bin_header(as_found);
    struct stat status;
    if (fstat(opened.get(), &status) != 0 || head.substr(0, found.length) != wanted) return false;
    if (static_cast<uint64_t>(status.st_size) != wanted.size() + call.bytes) return false;
    const auto* data = static_cast<const char*>(call.data);
    for (uint64_t done = 0; done < call.bytes;) {
        const size_t part = static_cast<size_t>(std::min<uint64_t>(kBuffer, call.bytes - done));
        size_t got = 0;
        const int error = read_fully(opened.get(), buffer(), part, static_cast<off_t>(wanted.size() + done), &got);
        if (error != 0 || got != part || std::memcmp(buffer(), data + done, part) != 0) return false;
        progress_->fetch_add(1, std::memory_order_relaxed);
        done += part;
    }
    return true;
}

int TensorFiles::make_whole(std::string_view round, const std::string& reference, const std::string& home) {
    std::string head;
    FileDescriptor opened = open_file(round, reference, &cursor_, &head);
    if (!opened.is_open()) return errno == ENOENT ? 0 : errno;
    if (parse_bin_header(head).reference != reference_to(home)) return 0;
    opened = FileDescriptor();

    std::string home_head;
    const FileDescriptor source = open_file(round, home, &other_cursor_, &home_head);
    if (!source.is_open()) return errno == ENOENT ? 0 : errno;
    const BinHeader stored = parse_bin_header(home_head);
    if (stored.length == 0 || !stored.reference.empty()) return 0;
    if (stored.format == parse_bin_header(head).format) {
        WholeFile file(cursor_.descriptor());
        const bool is_linked = file.link_to(other_cursor_.descriptor(), name_of(home)) == 0;
        if (is_linked && file.put_in_place(name_of(reference)) == 0) return 0;
    }
    struct stat status;
    if (!source.read_status(&status)) return EBADF;
    TensorCall call{};
    call.format = parse_bin_header(head).format;
    call.dtype = stored.dtype;
    call.dims = stored.dims;
    call.bytes = static_cast<uint64_t>(status.st_size) - stored.length;
    return copy(source, stored.length, bin_header(call), name_of(reference));
}

// To `name` in the folder of cursor_: `head`, then what follows `offset` in `from`.
int TensorFiles::copy(const FileDescriptor& from, size_t offset, const std::string& head, const std::string& name) {
    WholeFile file(cursor_.descriptor());
    int error = file.create();
    if (error != 0) return error;
    iovec piece = piece_of(head);
    error = write_fully(file.file(), &piece, 1, progress_);
    while (error == 0) {
        size_t got = 0;
        error = read_fully(from.get(), buffer(), kBuffer, static_cast<off_t>(offset), &got);
        if (!from.is_ours() || !file.file().is_ours()) return EBADF;
        if (error != 0) return error;
        if (got == 0) return file.put_in_place(name);
        offset += got;
        piece = {buffer(), got};
        error = write_fully(file.file(), &piece, 1, progress_);
    }
    return error;
}

int TensorFiles::make_round_whole(std::string_view round) {
    int error = cursor_.open(round);
    RoundScan scan;
    if (error == 0) error = scan.read(cursor_.descriptor());
    for (const RoundScan::Reference& reference : scan.references()) {
        if (error != 0) break;
        const std::string* home = scan.find(reference.to);
        if (home != nullptr) error = make_whole(round, reference.file, *home);
    }
    return error;
}

}  // namespace atbprobe
