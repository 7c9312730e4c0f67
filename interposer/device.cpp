#include "device.h"

#include <dlfcn.h>

#include "host_thread.h"

namespace atbprobe {

int32_t current_device() {
    using GetDevice = int (*)(int32_t*);
    const auto get_device = reinterpret_cast<GetDevice>(dlsym(RTLD_DEFAULT, "aclrtGetDevice"));
    const NoCancellation no_cancellation;
    int32_t device = -1;
    if (get_device == nullptr || get_device(&device) != 0) return -1;
    return device;
}

}  // namespace atbprobe
