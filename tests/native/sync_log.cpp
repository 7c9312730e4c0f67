// To be preloaded: notes in the file $SYNC_LOG, in order, what is synced and what is renamed, a line each:
//
//     fsync PATH
//     rename PATH        the new one
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string path_of(int descriptor) {
    char path[PATH_MAX];
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
    return length < 0 ? "?" : std::string(path, static_cast<size_t>(length));
}

void note(const std::string& line) {
    const char* log = std::getenv("SYNC_LOG");
    const int file = log == nullptr ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    close(file);
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int fsync(int descriptor) {
    note("fsync " + path_of(descriptor) + "\n");
    return next<int (*)(int)>("fsync")(descriptor);
}

__attribute__((visibility("default"))) int renameat(int old_folder, const char* old_name, int folder,
                                                    const char* name) noexcept {
    note("rename " + path_of(folder) + "/" + name + "\n");
    return next<int (*)(int, const char*, int, const char*)>("renameat")(old_folder, old_name, folder, name);
}
}
