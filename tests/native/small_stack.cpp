// A host whose only caller is a thread with a small stack: it makes the first call of the process, and saves.
//
//     small_stack              on the smallest stack that a thread can have
//     small_stack measure      on a large one; stdout is the number of bytes of it that were touched
#include <pthread.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

constexpr size_t kLargeStack = size_t{1} << 20;
constexpr unsigned char kUntouched = 0xa5;
constexpr uint64_t kRounds = 3;

struct Names {
    std::string dir;
    std::string file;
    std::string param;
};

// Made beforehand: what the thread itself needs is no concern of this program.
Names g_names[kRounds];
const std::string kFormat = "2";
const std::string kDtype = "0";
const std::string kDims = "2";
const std::string kParam = R"({"scale":1.5})";
const std::string kGraph = R"({"opName":"Layer_0","inTensorNum":1,"outTensorNum":1,"param":{"a":1.5}})";
const std::string kLayer = "Layer_0";
const std::vector<int64_t> kIds{0};
const float kData[] = {1.25F, -3e-7F};
bool g_refused = false;

void* save_some(void*) {
    if (!Probe::IsTensorNeedSave(kIds, kLayer)) g_refused = true;
    if (Probe::ReportOperationGraphEnable()) Probe::ReportOperationGraph(kLayer, kGraph);
    for (uint64_t round = 0; round < kRounds; ++round) {
        const Names& names = g_names[round];
        if (!Probe::IsExecuteCountInRange(round) || !Probe::IsSaveTensorInSpecificDir(names.dir) ||
            !Probe::IsSaveTensorBefore()) {
            g_refused = true;
            return nullptr;
        }
        Probe::SaveTensor(kFormat, kDtype, kDims, kData, sizeof kData, names.file);
        if (!Probe::IsExecuteCountInRange(round) || !Probe::IsSaveTensorInSpecificDir(names.dir) ||
            !Probe::IsSaveParam()) {
            g_refused = true;
            return nullptr;
        }
        Probe::SaveParam(kParam, names.param);
    }
    return nullptr;
}

size_t touched(const unsigned char* stack) {
    size_t untouched = 0;
    while (untouched < kLargeStack && stack[untouched] == kUntouched) ++untouched;
    return kLargeStack - untouched;
}

void* nothing(void*) { return nullptr; }

// The stack that a thread had after it has run `main_function`.
size_t stack_use(void* (*main_function)(void*)) {
    void* stack = nullptr;
    if (posix_memalign(&stack, 4096, kLargeStack) != 0) std::abort();
    memset(stack, kUntouched, kLargeStack);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, kLargeStack);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, main_function, nullptr) != 0) std::abort();
    pthread_join(thread, nullptr);
    return touched(static_cast<unsigned char*>(stack));
}

}  // namespace

int main(int count, char**) {
    for (uint64_t round = 0; round < kRounds; ++round) {
        const std::string dir = "0_" + std::to_string(getpid()) + "/" + std::to_string(round) + "/0_Layer";
        g_names[round] = {dir, dir + "/before/intensor0.bin", dir + "/op_param.json"};
    }
    if (count > 1) {
        const size_t of_every_thread = stack_use(nothing);
        std::printf("%zu\n", stack_use(save_some) - of_every_thread);
    } else {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_t thread;
        if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0 ||
            pthread_create(&thread, &attributes, save_some, nullptr) != 0) {
            return 2;
        }
        pthread_join(thread, nullptr);
    }
    return g_refused ? 3 : 0;
}
