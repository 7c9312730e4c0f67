// To be preloaded: a disk that writes $SLOW_DISK_BYTES_PER_SECOND, one write after the other, whoever asks for it.
// With SLOW_DISK_IS_REMOTE=1 its file systems say that they are FUSE.
#include <dlfcn.h>
#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>

namespace {

constexpr uint64_t kNanoseconds = 1'000'000'000;

std::mutex g_disk;

uint64_t number_in(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

ssize_t take_time(int descriptor, ssize_t written) {
    const uint64_t rate = number_in("SLOW_DISK_BYTES_PER_SECOND");
    if (written <= 0 || descriptor <= STDERR_FILENO || rate == 0) return written;
    const uint64_t time = static_cast<uint64_t>(written) * kNanoseconds / rate;
    timespec left{static_cast<time_t>(time / kNanoseconds), static_cast<long>(time % kNanoseconds)};
    const std::lock_guard<std::mutex> lock(g_disk);
    while (nanosleep(&left, &left) != 0) {
    }
    return written;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* data, size_t bytes) {
    return take_time(descriptor, next<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, data, bytes));
}

__attribute__((visibility("default"))) ssize_t writev(int descriptor, const iovec* pieces, int count) {
    return take_time(descriptor, next<ssize_t (*)(int, const iovec*, int)>("writev")(descriptor, pieces, count));
}

__attribute__((visibility("default"))) int fstatfs(int descriptor, struct statfs* status) noexcept {
    const int result = next<int (*)(int, struct statfs*)>("fstatfs")(descriptor, status);
    if (result == 0 && number_in("SLOW_DISK_IS_REMOTE") == 1) status->f_type = FUSE_SUPER_MAGIC;
    return result;
}
}
