#include "listing_request.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "file_descriptor.h"
#include "listing_format.h"
#include "private_files.h"
#include "process_slot.h"

namespace atbprobe {
namespace {

constexpr char kNameHead[] = "ops-";
constexpr int kMostEntries = 4096;  // of the channel's folder that are looked at

struct AnswerName {
    char text[48];
};

// A forked child and a thread that goes by the number of one that has ended answer for themselves.
AnswerName answer_name() {
    AnswerName name;
    snprintf(name.text, sizeof(name.text), "%ld-%ld", static_cast<long>(getpid()), syscall(SYS_gettid));
    return name;
}

// Reads digits up to `end` and steps behind it. False if there is anything else, or too much of it.
bool read_number(const char** text, char end, uint64_t* number) {
    constexpr int kMostDigits = 19;  // whatever they are, they fit
    *number = 0;
    int digits = 0;
    for (; **text >= '0' && **text <= '9'; ++*text, ++digits) {
        if (digits == kMostDigits) return false;
        *number = *number * 10 + static_cast<uint64_t>(**text - '0');
    }
    if (digits == 0 || **text != end) return false;
    if (end != '\0') ++*text;
    return true;
}

bool parse_request(const char* name, ListingRequest* request) {
    const size_t length = strlen(name);
    const size_t head = sizeof(kNameHead) - 1;
    if (length >= sizeof(request->folder_name) || strncmp(name, kNameHead, head) != 0) return false;
    const char* rest = name + head;
    uint64_t pid = 0;
    uint64_t number = 0;
    if (!read_number(&rest, '-', &pid) || !read_number(&rest, '-', &request->start_time) ||
        !read_number(&rest, '-', &number) || !read_number(&rest, '\0', &request->rounds))
        return false;
    if (pid == 0 || pid > UINT32_MAX || request->rounds == 0 || request->rounds > kMostListedRounds) return false;
    request->pid = static_cast<uint32_t>(pid);
    memcpy(request->folder_name, name, length + 1);
    return true;
}

bool asker_is_alive(const ListingRequest& request) { return process_start_time(request.pid) == request.start_time; }

bool is_answered(int channel_folder, const ListingRequest& request) {
    const FileDescriptor folder(open_private_folder(channel_folder, request.folder_name, IfMissing::kFail));
    struct stat status = {};
    return folder.get() < 0 || fstatat(folder.get(), answer_name().text, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

bool find_listing_request(const char* channel_folder, ListingRequest* request) {
    const int opened = open_channel_folder(channel_folder, IfMissing::kFail);
    if (opened < 0) return false;
    DIR* entries = fdopendir(opened);  // which owns the descriptor from now on
    if (entries == nullptr) {
        close(opened);
        return false;
    }
    bool found = false;
    for (int i = 0; i < kMostEntries && !found; ++i) {
        const dirent* entry = readdir(entries);
        if (entry == nullptr) break;
        found = parse_request(entry->d_name, request) && asker_is_alive(*request) && !is_answered(opened, *request);
    }
    closedir(entries);
    return found;
}

int append_to_answer(const std::string& channel_folder, const ListingRequest& request, const std::string& bytes,
                     size_t written) {
    if (!asker_is_alive(request)) return -ESRCH;
    const FileDescriptor channel(open_channel_folder(channel_folder.c_str(), IfMissing::kFail));
    if (channel.get() < 0) return channel.get();
    const FileDescriptor folder(open_private_folder(channel.get(), request.folder_name, IfMissing::kFail));
    if (folder.get() < 0) return folder.get();
    const AnswerName name = answer_name();
    struct stat status = {};
    const FileDescriptor file(written == 0 ? create_private_file(folder.get(), name.text)
                                           : open_private_file(folder.get(), name.text, O_WRONLY | O_APPEND, &status));
    if (file.get() < 0) return file.get();
    if (static_cast<size_t>(status.st_size) != written) return -EPROTO;
    return write_whole(file.get(), bytes.data(), bytes.size());
}

}  // namespace atbprobe
