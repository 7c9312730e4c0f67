// To be preloaded: in the writer threads of the saver `new` throws every third time, as long as $THROWING_NEW_COUNT
// times, std::bad_alloc and std::length_error in turns.
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace {

constexpr int kEvery = 3;

std::atomic<int> g_asked{0};
thread_local bool t_is_throwing = false;  // an exception's text is made with `new`, too

bool is_writer() {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    return std::strcmp(name, "atbprobe-save") == 0;
}

void throw_if_it_is_time() {
    if (t_is_throwing || !is_writer()) return;
    const char* count = std::getenv("THROWING_NEW_COUNT");
    const int asked = g_asked.fetch_add(1);
    if (count == nullptr || asked % kEvery != 0 || asked / kEvery >= std::strtol(count, nullptr, 10)) return;
    if (asked / kEvery % 2 == 0) throw std::bad_alloc();
    t_is_throwing = true;
    const std::length_error error("thrown by a test");
    t_is_throwing = false;
    throw std::length_error(error);
}

}  // namespace

__attribute__((visibility("default"))) void* operator new(size_t bytes) {
    throw_if_it_is_time();
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

__attribute__((visibility("default"))) void operator delete(void* memory) noexcept { std::free(memory); }

__attribute__((visibility("default"))) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
