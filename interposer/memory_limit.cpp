#include "memory_limit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

namespace atbprobe {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// Reads at most `size` bytes; empty if the file is not there.
std::string_view read_start(const char* path, char* buffer, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    size_t used = 0;
    while (used < size) {
        const ssize_t got = read(fd, buffer + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += static_cast<size_t>(got);
    }
    close(fd);
    return {buffer, used};
}

uint64_t number_in(std::string_view text) {
    uint64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() ? value : kUnlimited;
}

// On the heap, since a thread of the host may have a small stack.
struct Buffers {
    char groups[8192];
    char path[4096];
    char number[64];
};

// The smallest limit on the way from `group` up to the root of the hierarchy mounted at `mount`. Inside a container
// the group's own path is often not visible and only the root answers.
uint64_t smallest_limit(const char* mount, std::string_view group, const char* file, Buffers* buffers) {
    uint64_t smallest = kUnlimited;
    for (;;) {
        const int length = std::snprintf(buffers->path, sizeof buffers->path, "%s%.*s/%s", mount,
                                         static_cast<int>(group.size()), group.data(), file);
        if (length > 0 && static_cast<size_t>(length) < sizeof buffers->path) {
            smallest =
                std::min(smallest, number_in(read_start(buffers->path, buffers->number, sizeof buffers->number)));
        }
        if (group.empty()) return smallest;
        const size_t slash = group.rfind('/');
        group = group.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
}

// Lines of /proc/self/cgroup are `number:controllers:path`; version 2 has number 0 and no controllers.
uint64_t group_limit(std::string_view line, Buffers* buffers) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return kUnlimited;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) {
        return std::min(smallest_limit("/sys/fs/cgroup", group, "memory.max", buffers),
                        smallest_limit("/sys/fs/cgroup/unified", group, "memory.max", buffers));
    }
    if (controllers == "memory") {
        return smallest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", buffers);
    }
    return kUnlimited;
}

uint64_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return kUnlimited;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

}  // namespace

uint64_t memory_limit() {
    uint64_t limit = machine_memory();
    const std::unique_ptr<Buffers> buffers(new (std::nothrow) Buffers);
    std::string_view groups;
    if (buffers != nullptr) groups = read_start("/proc/self/cgroup", buffers->groups, sizeof buffers->groups);
    while (!groups.empty()) {
        const size_t end = std::min(groups.find('\n'), groups.size());
        limit = std::min(limit, group_limit(groups.substr(0, end), buffers.get()));
        groups.remove_prefix(std::min(end + 1, groups.size()));
    }
    return limit == kUnlimited ? 0 : limit;
}

}  // namespace atbprobe
