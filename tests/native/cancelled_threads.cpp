// A host of which a thread is cancelled while it is inside of the probe: in the host's own function that is asked for
// the device, or in a message. stdout says how it got on.
//
//     cancelled_threads device | message
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace {

bool g_cancels_in_device = false;

struct Leaving {
    ~Leaving() { std::puts("the host's objects are destroyed"); }
};

void* ask(void*) {
    const Leaving leaving;
    if (!g_cancels_in_device) pthread_cancel(pthread_self());
    const bool is_granted = atb::Probe::IsExecuteCountInRange(0);
    std::puts(is_granted ? "granted" : "refused");
    pthread_testcancel();
    std::puts("not cancelled");
    return nullptr;
}

}  // namespace

extern "C" int aclrtGetDevice(int32_t* device) {
    *device = 0;
    if (!g_cancels_in_device) return 0;
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return 0;
}

int main(int, char** arguments) {
    g_cancels_in_device = strcmp(arguments[1], "device") == 0;
    pthread_t thread;
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, ask, nullptr) != 0 || pthread_join(thread, &result) != 0) return 2;
    std::puts(result == PTHREAD_CANCELED ? "cancelled" : "ended");
    std::puts(atb::Probe::IsExecuteCountInRange(0) ? "granted" : "refused");
    return 0;
}
