#include "acl_runtime.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidParameter = 107000;
constexpr int kNoDeviceSet = 107002;

thread_local int32_t current_device = -1;

}  // namespace

extern "C" int aclrtSetDevice(int32_t device) {
    if (device < 0) {
        return kInvalidParameter;
    }
    current_device = device;
    return kSuccess;
}

extern "C" int aclrtGetDevice(int32_t* device) {
    if (device == nullptr) {
        return kInvalidParameter;
    }
    if (current_device < 0) {
        return kNoDeviceSet;
    }
    *device = current_device;
    return kSuccess;
}
