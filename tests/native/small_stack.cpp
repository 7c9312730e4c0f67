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

// What the host says, made beforehand: what that needs of the stack is no concern of this program.
struct Host {
    Names rounds[kRounds];
    std::string format = "2";
    std::string dtype = "0";
    std::string dims = "2";
    std::string param = R"({"scale":1.5})";
    std::string graph = R"({"opName":"Layer_0","inTensorNum":1,"outTensorNum":1,"param":{"a":1.5}})";
    std::string layer = "Layer_0";
    std::vector<int64_t> ids{0};
    float data[2] = {1.25F, -3e-7F};
    bool is_refused = false;
};

bool is_dir_granted(uint64_t round, const Names& names) {
    return Probe::IsExecuteCountInRange(round) && Probe::IsSaveTensorInSpecificDir(names.dir);
}

bool save_round(const Host& host, uint64_t round) {
    const Names& names = host.rounds[round];
    if (!is_dir_granted(round, names) || !Probe::IsSaveTensorBefore()) return false;
    Probe::SaveTensor(host.format, host.dtype, host.dims, host.data, sizeof host.data, names.file);
    if (!is_dir_granted(round, names) || !Probe::IsSaveParam()) return false;
    Probe::SaveParam(host.param, names.param);
    return true;
}

void* save_some(void* argument) {
    Host& host = *static_cast<Host*>(argument);
    host.is_refused = !Probe::IsTensorNeedSave(host.ids, host.layer);
    if (Probe::ReportOperationGraphEnable()) Probe::ReportOperationGraph(host.layer, host.graph);
    for (uint64_t round = 0; round < kRounds; ++round) {
        if (!save_round(host, round)) host.is_refused = true;
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
size_t stack_use(void* (*main_function)(void*), Host* host) {
    void* stack = nullptr;
    if (posix_memalign(&stack, 4096, kLargeStack) != 0) std::abort();
    memset(stack, kUntouched, kLargeStack);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, kLargeStack);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, main_function, host) != 0) std::abort();
    pthread_join(thread, nullptr);
    return touched(static_cast<unsigned char*>(stack));
}

}  // namespace

int main(int count, char**) {
    Host host;
    for (uint64_t round = 0; round < kRounds; ++round) {
        const std::string dir = "0_" + std::to_string(getpid()) + "/" + std::to_string(round) + "/0_Layer";
        host.rounds[round] = {dir, dir + "/before/intensor0.bin", dir + "/op_param.json"};
    }
    if (count > 1) {
        const size_t of_every_thread = stack_use(nothing, &host);
        std::printf("%zu\n", stack_use(save_some, &host) - of_every_thread);
    } else {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_t thread;
        if (pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN)) != 0 ||
            pthread_create(&thread, &attributes, save_some, &host) != 0) {
            return 2;
        }
        pthread_join(thread, nullptr);
    }
    return host.is_refused ? 3 : 0;
}
