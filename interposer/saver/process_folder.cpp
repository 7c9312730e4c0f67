#include "process_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "file_descriptor.h"
#include "log.h"
#include "whole_file.h"

namespace atbprobe {
namespace {

constexpr const char* kOwnerFile = ".atbprobe-owner";
constexpr mode_t kFolderMode = 0750;
constexpr int kMaxTries = 10000;

std::string read_small_file(int folder, const char* name) {
    const FileDescriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) return {};
    std::string text(4096, '\0');
    ssize_t size;
    do {
        size = read(file.get(), text.data(), text.size());
    } while (size < 0 && errno == EINTR);
    text.resize(size <= 0 ? 0 : static_cast<size_t>(size));
    return text;
}

std::string link_target(const char* path) {
    char text[256];
    const ssize_t size = readlink(path, text, sizeof text);
    return size <= 0 ? std::string() : std::string(text, static_cast<size_t>(size));
}

// Field 22 of /proc/<pid>/stat, in clock ticks since boot. The name in field 2 may hold blanks and parentheses.
std::string start_time(const std::string& pid) {
    const std::string stat = read_small_file(AT_FDCWD, ("/proc/" + pid + "/stat").c_str());
    size_t at = stat.rfind(')');
    for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
    if (at == std::string::npos) return {};
    return stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

struct Owner {
    std::string boot;
    std::string pid_namespace;
    std::string pid;
    std::string started;

    bool is_complete() const { return !boot.empty() && !pid_namespace.empty() && !pid.empty() && !started.empty(); }

    bool operator==(const Owner& other) const {
        return boot == other.boot && pid_namespace == other.pid_namespace && pid == other.pid &&
               started == other.started;
    }
};

std::string line_value(const std::string& text, std::string_view name) {
    const size_t start = text.find("\n" + std::string(name) + "=");
    if (start == std::string::npos) return {};
    const size_t value = start + name.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
}

Owner this_process() {
    Owner owner;
    owner.boot = read_small_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
    owner.boot.erase(owner.boot.find_last_not_of('\n') + 1);
    owner.pid_namespace = link_target("/proc/self/ns/pid");
    owner.pid = std::to_string(getpid());
    owner.started = start_time(owner.pid);
    return owner;
}

std::string owner_text(const Owner& owner) {
    return "atbprobe owner file 1\nboot=" + owner.boot + "\npid_namespace=" + owner.pid_namespace +
           "\npid=" + owner.pid + "\nstarted=" + owner.started + "\n";
}

Owner owner_of(int folder) {
    const std::string text = read_small_file(folder, kOwnerFile);
    return {line_value(text, "boot"), line_value(text, "pid_namespace"), line_value(text, "pid"),
            line_value(text, "started")};
}

// Another boot id may be another machine on the same storage, another namespace a container that runs: neither proves
// anything.
bool is_provably_dead(const Owner& owner, const Owner& self) {
    return owner.is_complete() && self.is_complete() && owner.boot == self.boot &&
           owner.pid_namespace == self.pid_namespace && start_time(owner.pid) != owner.started;
}

// Makes `name` with its owner file at one stroke. EEXIST if it is there already.
int create_owned(int data_folder, const std::string& name, const Owner& self) {
    const std::string hidden = ".atbprobe-" + self.pid + "-" + std::to_string(gettid()) + ".new";
    if (mkdirat(data_folder, hidden.c_str(), kFolderMode) != 0 && errno != EEXIST) return errno;
    int error = 0;
    {
        const FileDescriptor folder(
            openat(data_folder, hidden.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder.is_open()) return errno;
        std::string text = owner_text(self);
        Progress progress{0};
        error = write_whole_file(folder.get(), kOwnerFile, {text.data(), text.size()}, {nullptr, 0}, &progress);
        if (error == 0 && renameat(data_folder, hidden.c_str(), data_folder, name.c_str()) == 0) return 0;
        if (error == 0) error = errno;
        unlinkat(folder.get(), kOwnerFile, 0);
    }
    unlinkat(data_folder, hidden.c_str(), AT_REMOVEDIR);
    return error == ENOTEMPTY || error == ENOTDIR ? EEXIST : error;
}

// A rename never replaces a folder that has something in it, so no older one can be lost.
bool move_aside(int data_folder, const std::string& name) {
    for (int n = 1; n < kMaxTries; ++n) {
        const std::string old_name = name + ".old" + std::to_string(n);
        struct stat status;
        if (fstatat(data_folder, old_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) continue;
        if (renameat(data_folder, name.c_str(), data_folder, old_name.c_str()) == 0) {
            log_message(LogLevel::kWarning, "%s of a process that has ended was moved to %s", name.c_str(),
                        old_name.c_str());
            return true;
        }
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
    return false;
}

enum class Claim { kMine, kForeign, kDead };

Claim judge(int data_folder, const std::string& name, const Owner& self) {
    const FileDescriptor folder(openat(data_folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.is_open()) return Claim::kForeign;
    const Owner owner = owner_of(folder.get());
    if (self.is_complete() && owner == self) return Claim::kMine;
    return is_provably_dead(owner, self) ? Claim::kDead : Claim::kForeign;
}

}  // namespace

int claim_process_folder(int data_folder, const std::string& name, std::string* claimed, bool* is_new) {
    const Owner self = this_process();
    for (int n = 0; n < kMaxTries; ++n) {
        const std::string wanted = n == 0 ? name : name + "." + std::to_string(n);
        int error = create_owned(data_folder, wanted, self);
        *is_new = true;
        if (error == EEXIST) {
            const Claim claim = judge(data_folder, wanted, self);
            if (claim == Claim::kMine) {
                error = 0;
                *is_new = false;
            }
            if (claim == Claim::kDead && n == 0 && move_aside(data_folder, name)) {
                error = create_owned(data_folder, wanted, self);
            }
        }
        if (error == 0 && n > 0) {
            log_message(LogLevel::kWarning, "%s belongs to another process: this one writes to %s", name.c_str(),
                        wanted.c_str());
        }
        if (error == 0) *claimed = wanted;
        if (error != EEXIST) return error;
    }
    return EEXIST;
}

}  // namespace atbprobe
