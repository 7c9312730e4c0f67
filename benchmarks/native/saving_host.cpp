// Saves tensors as a host does, for a clock outside: it counts until the process has ended.
//
//     saving_host probe|plain DTYPE COUNT BYTES [COUNT BYTES]...
//
// COUNT tensors of BYTES bytes each, one kind after the other, eight to an operation, the outputs of its after pass.
// With `probe` they go to SaveTensor as far as the probe wants them; with `plain` this program writes them itself, each
// with open, write and rename, into the same tree below $ATB_OUTPUT_DIR. The numbers are of all magnitudes near one,
// and finite; DTYPE is the host's number of a floating-point type.
//
// Answers `PEAK`, its peak memory in KiB, when what others have registered for the end of the process is done: the
// resource usage that the kernel reports of a process has that of its parent in it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;

constexpr uint64_t kPerOperation = 8;
constexpr uint64_t kPattern = 64 << 10;  // bytes of numbers, repeated in larger tensors
constexpr int kHalf = 1;
constexpr int kBfloat16 = 27;

struct Tensor {
    std::string dtype;
    std::string dims;
    std::vector<char> data;
};

template <typename Word>
std::vector<char> numbers(uint64_t bytes, Word mask, Word base) {
    std::vector<Word> words(kPattern / sizeof(Word));
    uint32_t state = 1;
    for (Word& word : words) {
        state = state * 1664525U + 1013904223U;
        word = static_cast<Word>(base + ((state >> 8U) & mask));
    }
    std::vector<char> data(bytes);
    for (uint64_t done = 0; done < bytes; done += kPattern) {
        std::memcpy(data.data() + done, words.data(), std::min(kPattern, bytes - done));
    }
    return data;
}

Tensor make_tensor(int dtype, uint64_t bytes) {
    Tensor tensor{std::to_string(dtype), {}, {}};
    uint64_t size = 2;
    if (dtype == kHalf) {
        tensor.data = numbers<uint16_t>(bytes, 0x0fff, 0x3800);
    } else if (dtype == kBfloat16) {
        tensor.data = numbers<uint16_t>(bytes, 0x01ff, 0x3f00);
    } else {
        tensor.data = numbers<uint32_t>(bytes, 0x00ffffff, 0x3f000000);
        size = 4;
    }
    tensor.dims = std::to_string(bytes / size);
    return tensor;
}

bool is_wanted(const std::string& operation) {
    const auto dir_is_wanted = [&] {
        return Probe::IsExecuteCountInRange(0) && Probe::IsSaveTensorInSpecificDir(operation);
    };
    Probe::UpdateConfig();
    if (dir_is_wanted() && Probe::IsSaveTensorBefore()) Probe::IsSaveTensorData();
    return dir_is_wanted() && Probe::IsSaveTensorAfter() && Probe::IsSaveTensorData();
}

void answer_peak() {
    FILE* status = std::fopen("/proc/self/status", "re");
    char line[256];
    while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
        if (std::strncmp(line, "VmHWM:", 6) == 0) std::printf("%llu\n", std::strtoull(line + 6, nullptr, 10));
    }
    if (status != nullptr) std::fclose(status);
    std::fflush(stdout);
}

bool write_plainly(const Tensor& tensor, const std::string& path) {
    const std::string temporary = path + ".tmp";
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (file < 0) return false;
    const ssize_t written = write(file, tensor.data.data(), tensor.data.size());
    return close(file) == 0 && written == static_cast<ssize_t>(tensor.data.size()) &&
           rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5 || std::atexit(answer_peak) != 0) return 2;
    const bool plain = std::strcmp(argv[1], "plain") == 0;
    const int dtype = static_cast<int>(std::strtol(argv[2], nullptr, 10));
    const std::string process = "0_" + std::to_string(getpid());
    const char* output = std::getenv("ATB_OUTPUT_DIR");
    const std::string tree = (output == nullptr ? "" : std::string(output)) + "/";
    if (plain) {
        mkdir((tree + process).c_str(), 0750);
        mkdir((tree + process + "/0").c_str(), 0750);
    }
    Probe::IsTensorNeedSave({0}, "WordEmbedding");  // what a host asks first of all
    uint64_t operations = 0;
    for (int i = 3; i + 1 < argc; i += 2) {
        const uint64_t count = std::strtoull(argv[i], nullptr, 10);
        const Tensor tensor = make_tensor(dtype, std::strtoull(argv[i + 1], nullptr, 10));
        bool wanted = false;
        std::string folder;
        for (uint64_t number = 0; number < count; ++number) {
            if (number % kPerOperation == 0) {
                const std::string operation = process + "/0/" + std::to_string(operations++) + "_Layer";
                folder = operation + "/after";
                wanted = plain || is_wanted(operation);
                if (plain) {
                    mkdir((tree + operation).c_str(), 0750);
                    mkdir((tree + folder).c_str(), 0750);
                }
            }
            if (!wanted) continue;
            const std::string path = folder + "/outtensor" + std::to_string(number % kPerOperation) + ".bin";
            if (plain) {
                if (!write_plainly(tensor, tree + path)) return 1;
            } else {
                Probe::SaveTensor("2", tensor.dtype, tensor.dims, tensor.data.data(), tensor.data.size(), path);
            }
        }
    }
    return 0;
}
