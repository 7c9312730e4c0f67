#include "channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/hash2/sha2.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock_nanoseconds.h"
#include "file_descriptor.h"
#include "private_files.h"
#include "program_verifier.h"

namespace atbprobe {
namespace {

constexpr char kControlName[] = "control";
constexpr uint64_t kLargestGeneration = uint64_t{1} << 62;
constexpr size_t kMaxNameBytes = 64;
constexpr int kOpenTries = 16;

// A name in the channel's folder: `image-17`, `.new-1234-7f…`.
struct FileName {
    char text[kMaxNameBytes];
};

FileName image_name(uint64_t generation) {
    FileName name;
    snprintf(name.text, sizeof(name.text), "image-%llu", static_cast<unsigned long long>(generation));
    return name;
}

FileName temporary_name() {
    FileName name;
    snprintf(name.text, sizeof(name.text), ".new-%ld-%llu", static_cast<long>(getpid()),
             static_cast<unsigned long long>(clock_nanoseconds(CLOCK_MONOTONIC)));
    return name;
}

int fill_control(int file) {
    // The pages are allocated for real: a sparse one on a full file system would kill whoever touches it.
    const int allocated = posix_fallocate(file, 0, static_cast<off_t>(kControlBytes));
    if (allocated != 0) return -allocated;
    ControlHeader header = {};
    memcpy(header.magic, kChannelMagic, sizeof(kChannelMagic));
    header.version = kChannelVersion;
    header.slot_count = kSlotCount;
    header.slot_bytes = sizeof(ProcessSlot);
    header.header_bytes = sizeof(ControlHeader);
    header.total_bytes = kControlBytes;
    return write_whole(file, &header, sizeof(header));
}

// Makes a whole control file and links it into place, so that nobody ever sees half of one. Somebody else's that came
// first is as good.
int create_control(int folder) {
    const FileName name = temporary_name();
    const int file = create_private_file(folder, name.text);
    if (file < 0) return file;
    int error = fill_control(file);
    close(file);
    if (error == 0 && linkat(folder, name.text, folder, kControlName, 0) != 0 && errno != EEXIST) error = -errno;
    unlinkat(folder, name.text, 0);
    return error;
}

bool is_our_control(const ControlHeader& header) {
    return memcmp(header.magic, kChannelMagic, sizeof(kChannelMagic)) == 0 && header.version == kChannelVersion &&
           header.slot_count == kSlotCount && header.slot_bytes == sizeof(ProcessSlot) &&
           header.header_bytes == sizeof(ControlHeader) && header.total_bytes == kControlBytes;
}

int map_control(int file, const struct stat& status, Channel* channel) {
    if (status.st_size != static_cast<off_t>(kControlBytes)) return -EPROTO;
    void* memory = mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return -errno;
    auto* control = static_cast<ControlHeader*>(memory);
    if (!is_our_control(*control)) {
        munmap(memory, kControlBytes);
        return -EPROTO;
    }
    *channel = {control, reinterpret_cast<ProcessSlot*>(static_cast<char*>(memory) + kSlotsOffset), status.st_dev,
                status.st_ino};
    return 0;
}

int write_image(int folder, const void* image, size_t size, uint64_t generation) {
    const FileName name = temporary_name();
    const int file = create_private_file(folder, name.text);
    if (file < 0) return file;
    int error = write_whole(file, image, size);
    if (close(file) != 0 && error == 0) error = -errno;
    if (error == 0 && renameat(folder, name.text, folder, image_name(generation).text) != 0) error = -errno;
    if (error != 0) unlinkat(folder, name.text, 0);
    return error;
}

// `/a//b/./c` is `/a/b/c`: spellings that differ in nothing else share a channel. `..` stays, since it may cross a
// link.
std::string without_empty_steps(const char* path) {
    std::string tidy;
    for (const char* step = path; *step != '\0';) {
        const size_t length = strcspn(step, "/");
        const bool empty = length == 0 || (length == 1 && *step == '.');
        if (!empty) tidy.append("/").append(step, length);
        step += length;
        if (*step == '/') ++step;
    }
    return tidy;
}

int open_once(const char* folder, IfMissing if_missing, Channel* channel) {
    const FileDescriptor channel_folder(open_channel_folder(folder, if_missing));
    if (channel_folder.get() < 0) return channel_folder.get();
    struct stat status = {};
    int opened = open_private_file(channel_folder.get(), kControlName, O_RDWR, &status);
    if (opened == -ENOENT && if_missing == IfMissing::kCreate) {
        const int error = create_control(channel_folder.get());
        opened = error != 0 ? error : open_private_file(channel_folder.get(), kControlName, O_RDWR, &status);
    }
    const FileDescriptor file(opened);
    return file.get() < 0 ? file.get() : map_control(file.get(), status, channel);
}

// One that is closed in its place was left halfway, and is opened again. One that is not in its place any more must
// stay closed: whoever has it would wait for its next word forever. -ENOENT then.
int settle(const char* folder, Channel* channel) {
    uint64_t word = kChannelClosed;
    const bool was_closed = channel->control->generation.compare_exchange_strong(word, 0);
    if (channel_is_in_place(folder, *channel)) return 0;
    word = 0;
    if (was_closed) channel->control->generation.compare_exchange_strong(word, kChannelClosed);
    channel_unmap(channel);
    return -ENOENT;
}

}  // namespace

int channel_folder_of(const char* runtime_folder, const char* config_path, std::string* folder) {
    struct stat pid_namespace = {};
    if (stat("/proc/self/ns/pid", &pid_namespace) != 0) return -errno;
    char inode[32];
    const int inode_length =
        snprintf(inode, sizeof(inode), "%llu", static_cast<unsigned long long>(pid_namespace.st_ino));

    const std::string path = without_empty_steps(config_path);
    boost::hash2::sha2_256 hash;
    hash.update(path.c_str(), path.size() + 1);
    hash.update(inode, static_cast<size_t>(inode_length));
    const auto digest = hash.result();
    constexpr size_t kDigestBytes = 16;
    char hex[2 * kDigestBytes + 1];
    for (size_t i = 0; i < kDigestBytes; ++i) snprintf(hex + 2 * i, 3, "%02x", digest[i]);

    *folder = runtime_folder;
    *folder += '/';
    *folder += hex;
    return 0;
}

int channel_open(const char* folder, IfMissing if_missing, Channel* channel) {
    if (if_missing == IfMissing::kFail) return open_once(folder, if_missing, channel);
    int error = -ENOENT;
    for (int tries = 0; tries < kOpenTries && error == -ENOENT; ++tries) {  // it is taken away at this moment
        error = open_once(folder, if_missing, channel);
        if (error == 0) error = settle(folder, channel);
    }
    return error;
}

void channel_unmap(Channel* channel) {
    if (channel->control != nullptr) munmap(channel->control, kControlBytes);
    *channel = Channel{};
}

bool channel_is_in_place(const char* folder, const Channel& channel) {
    const FileDescriptor channel_folder(open_channel_folder(folder, IfMissing::kFail));
    struct stat status = {};
    return channel_folder.get() >= 0 &&
           fstatat(channel_folder.get(), kControlName, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == channel.device && status.st_ino == channel.inode;
}

int channel_read_image(const char* folder, uint64_t generation, ImageCopy* copy) {
    const FileDescriptor channel_folder(open_channel_folder(folder, IfMissing::kFail));
    if (channel_folder.get() < 0) return channel_folder.get();
    struct stat status = {};
    const FileDescriptor file(open_private_file(channel_folder.get(), image_name(generation).text, O_RDONLY, &status));
    if (file.get() < 0) return file.get();
    return read_image(file.get(), status.st_size, copy);
}

int64_t channel_publish(const char* folder, const Channel& channel, const void* image, size_t size) {
    ProgramView view;
    if (verify_image(image, size, &view) != Verdict::kOk) return -EBADMSG;
    const uint64_t last = channel.control->generation.load(std::memory_order_acquire);
    if (last >= kLargestGeneration) return -EPROTO;
    const FileDescriptor channel_folder(open_channel_folder(folder, IfMissing::kFail));
    if (channel_folder.get() < 0) return channel_folder.get();

    const uint64_t generation = last + 1;
    void* copy = malloc(size);
    if (copy == nullptr) return -ENOMEM;
    memcpy(copy, image, size);
    auto* header = static_cast<ImageHeader*>(copy);
    header->generation = generation;
    header->checksum = image_checksum(copy, size);
    const int error = write_image(channel_folder.get(), copy, size, generation);
    free(copy);
    if (error != 0) return error;

    channel.control->published_at.store(clock_nanoseconds(CLOCK_REALTIME), std::memory_order_relaxed);
    channel.control->generation.store(generation, std::memory_order_release);
    // The last image but one may be open in a process at this moment; its reader then looks at the word again.
    if (last != 0) unlinkat(channel_folder.get(), image_name(last).text, 0);
    return static_cast<int64_t>(generation);
}

}  // namespace atbprobe
