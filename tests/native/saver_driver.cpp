// Calls the saver as the probe functions would, by commands on stdin. A command is one line of words; of `tensor` and
// `param` the numbers are lengths of texts that follow it directly, without separators:
//
//     tensor TASKS FILTER_LEVEL FORMAT DTYPE DIMS PATH DATA
//                                                  SaveTensor with the last five
//     param JSON PATH                              SaveParam
//     announce | drain
//     threads THREADS ROUNDS BYTES                 each thread saves one tensor in each round, all at once
//     threads-one-round THREADS COUNT BYTES        each thread saves so many tensors, all into one round
//     burst COUNT BYTES                            COUNT tensors of one operation
//     repeats THREADS COUNT BYTES                  each thread saves COUNT tensors, of which many are the same, to
//     files of
//                                                  its own and to some that all threads save to, at filter_level 1
//     same COUNT BYTES                             COUNT saves to one path, the number of each as its content
//     idle                                         waits until nothing is queued
//     fork COUNT BYTES                             a child does `burst` and ends normally; answers its exit code
//     flush_to_zero                                as a host that has subnormal numbers switched off
//     environment                                  answers what the variables say
//     stall                                        answers what a full queue without writers does
//     statistics DTYPE ELEMENTS LENGTH DATA        answers what each version of the loops makes of the data
//     _exit | kill                                 ends at once
//
// Each command answers one line on stdout. At the end of the input the process ends normally: the saver is drained and
// the counters are answered as the last line.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "environment.h"
#include "process_counters.h"
#include "saver/save_queue.h"
#include "saver/saver.h"
#include "saver/statistics.h"

namespace {

using namespace atbprobe;

ProcessCounters g_counters;

std::string read_text(size_t size) {
    std::string text(size, '\0');
    if (size > 0 && std::fread(text.data(), 1, size, stdin) != size) std::abort();
    return text;
}

void answer(const char* text) {
    std::printf("%s\n", text);
    std::fflush(stdout);
}

void answer_counters() {
    std::printf("{\"tensors_saved\":%llu,\"bytes_saved\":%llu,\"bytes_queued\":%llu",
                static_cast<unsigned long long>(g_counters.tensors_saved.load()),
                static_cast<unsigned long long>(g_counters.bytes_saved.load()),
                static_cast<unsigned long long>(g_counters.bytes_queued.load()));
    for (size_t i = 0; i < std::size(kLossReasonNames); ++i) {
        std::printf(",\"%s\":%llu", kLossReasonNames[i], static_cast<unsigned long long>(g_counters.lost[i].load()));
    }
    answer("}");
}

std::string process_name() { return "0_" + std::to_string(getpid()); }

void save_bytes(const std::string& path, const std::string& data, uint32_t tasks) {
    const std::string dims = std::to_string(data.size());
    save_tensor({"4", "2", dims, data.data(), data.size(), path}, {tasks, 0});
}

void save_in_round(int thread, int rounds, size_t bytes) {
    const std::string data(bytes, static_cast<char>(thread));
    for (int round = 0; round < rounds; ++round) {
        const std::string path = process_name() + "/" + std::to_string(round) + "/" + std::to_string(thread) +
                                 "_Operation/after/outtensor0.bin";
        save_bytes(path, data, kTaskTensor | kTaskStatistics);
    }
}

// All into one statistic.csv: tensor i of thread t is output i of operation t.
void save_in_one_round(int thread, int count, size_t bytes) {
    const std::string data(bytes, static_cast<char>(thread));
    for (int i = 0; i < count; ++i) {
        save_bytes(
            process_name() + "/0/" + std::to_string(thread) + "_Operation/after/outtensor" + std::to_string(i) + ".bin",
            data, kTaskTensor | kTaskStatistics);
    }
}

void save_from_threads(void (*save)(int, int, size_t), int threads, int count, size_t bytes) {
    std::vector<std::thread> running;
    running.reserve(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) running.emplace_back(save, thread, count, bytes);
    for (std::thread& thread : running) thread.join();
}

// Tensor i holds the byte i modulo 7; the files `97_Shared` are saved by all threads with other bytes each time.
void save_repeats(int thread, int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
        const std::string data(bytes, static_cast<char>(i % 7));
        const std::string operation = i % 5 == 0 ? "97_Shared" : std::to_string(thread) + "_Operation";
        const int index = i % 5 == 0 ? i % 3 : i;
        const std::string path =
            process_name() + "/0/" + operation + "/after/outtensor" + std::to_string(index) + ".bin";
        save_tensor({"4", "2", std::to_string(bytes), data.data(), data.size(), path},
                    {kTaskTensor, kFilterPlainNames});
    }
}

void save_repeats_from_threads(int threads, int count, size_t bytes) {
    std::vector<std::thread> running;
    running.reserve(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) running.emplace_back(save_repeats, thread, count, bytes);
    for (std::thread& thread : running) thread.join();
}

void save_burst(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
        const std::string data(bytes, static_cast<char>(i));
        const std::string path = process_name() + "/0/0_WordEmbedding/before/intensor" + std::to_string(i) + ".bin";
        save_bytes(path, data, kTaskTensor | kTaskStatistics);
    }
}

void save_same(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
        std::string data(bytes, '\0');
        std::memcpy(data.data(), &i, std::min(bytes, sizeof i));
        save_bytes(process_name() + "/0/0_WordEmbedding/before/intensor0.bin", data, kTaskTensor | kTaskStatistics);
    }
}

void wait_until_idle() {
    while (g_counters.bytes_queued.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void answer_fork(int count, size_t bytes) {
    const pid_t child = fork();
    if (child == 0) {
        save_burst(count, bytes);
        saver_drain();
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    answer((std::to_string(child) + " " + std::to_string(status)).c_str());
}

void answer_environment() {
    std::printf(
        "{\"output\":\"%s\",\"config\":\"%s\",\"runtime\":\"%s\",\"log_level\":%d,\"queue_bytes\":%llu,"
        "\"writers\":%u,\"min_free\":%lld,\"fsync\":%d}",
        environment_output_folder(), environment_config_path(), environment_runtime_folder(), environment_log_level(),
        static_cast<unsigned long long>(environment_queue_bytes()), environment_writers(),
        static_cast<long long>(environment_min_free().value_or(~uint64_t{0})), environment_fsync());
    answer("");
}

void answer_statistics(int dtype, uint64_t elements, const std::string& data) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
    std::string versions = "[";
    for (const VectorVersion version : kVectorVersions) {
        if (!is_supported(version)) continue;
        const Statistics found =
            compute_statistics({static_cast<DataType>(dtype), bytes, data.size(), elements}, version);
        char text[256];
        std::snprintf(text, sizeof text, "%s\"%d %a %a %a %a %a %a %a\"", versions.size() > 1 ? "," : "", found.known,
                      found.max, found.min, found.mean, found.norm, found.max_imaginary, found.min_imaginary,
                      found.mean_imaginary);
        versions += text;
    }
    answer((versions + "]").c_str());
}

void answer_stall() {
    SaveQueue queue(100, std::chrono::milliseconds(20));
    const bool first = queue.admit(60, false) == SaveQueue::Admission::kAdmitted;
    const bool too_large = queue.admit(101, false) == SaveQueue::Admission::kDirect;
    const bool stalled = queue.admit(60, false) == SaveQueue::Admission::kStalled;
    queue.give_back(60);
    const bool again = queue.admit(60, false) == SaveQueue::Admission::kAdmitted;
    std::printf("{\"first\":%d,\"too_large\":%d,\"stalled\":%d,\"again\":%d,\"waited\":%d}", first, too_large, stalled,
                again, queue.waited().count() > 0);
    answer("");
}

void flush_to_zero() {
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
}

// False for a command that is not known.
bool carry_out(const std::string& command, std::istringstream& words) {
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t c = 0;
    words >> std::ws;
    if (command == "tensor") {
        SaveOrder order;
        uint64_t sizes[5] = {};
        words >> order.tasks >> order.filter_level >> sizes[0] >> sizes[1] >> sizes[2] >> sizes[3] >> sizes[4];
        std::string texts[5];
        for (int i = 0; i < 5; ++i) texts[i] = read_text(sizes[i]);
        save_tensor({texts[1], texts[0], texts[2], texts[4].data(), texts[4].size(), texts[3]}, order);
    } else if (command == "param") {
        words >> a >> b;
        const std::string json = read_text(a);
        save_param(json, read_text(b));
    } else if (command == "announce") {
        saver_announce();
    } else if (command == "drain") {
        saver_drain();
    } else if (command == "threads") {
        words >> a >> b >> c;
        save_from_threads(save_in_round, static_cast<int>(a), static_cast<int>(b), c);
    } else if (command == "threads-one-round") {
        words >> a >> b >> c;
        save_from_threads(save_in_one_round, static_cast<int>(a), static_cast<int>(b), c);
    } else if (command == "repeats") {
        words >> a >> b >> c;
        save_repeats_from_threads(static_cast<int>(a), static_cast<int>(b), c);
    } else if (command == "burst") {
        words >> a >> b;
        save_burst(static_cast<int>(a), b);
    } else if (command == "same") {
        words >> a >> b;
        save_same(static_cast<int>(a), b);
    } else if (command == "idle") {
        wait_until_idle();
    } else if (command == "flush_to_zero") {
        flush_to_zero();
    } else if (command == "_exit") {
        _exit(0);
    } else if (command == "kill") {
        raise(SIGKILL);
    } else {
        return false;
    }
    answer_counters();
    return true;
}

}  // namespace

namespace atbprobe {

ProcessCounters& process_counters() { return g_counters; }

}  // namespace atbprobe

#if defined(__SANITIZE_THREAD__)
// The child of the fork test starts threads, as a host's may; without this the sanitizer gives up there.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

int main() {
    pthread_atfork(nullptr, nullptr, saver_after_fork_in_child);
    for (;;) {
        std::string line;
        for (int character = std::getchar(); character != '\n'; character = std::getchar()) {
            if (character == EOF) {
                saver_drain();
                answer_counters();
                return 0;
            }
            line += static_cast<char>(character);
        }
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "fork") {
            uint64_t count = 0;
            uint64_t bytes = 0;
            words >> count >> bytes;
            answer_fork(static_cast<int>(count), bytes);
        } else if (command == "environment") {
            answer_environment();
        } else if (command == "statistics") {
            int dtype = 0;
            uint64_t elements = 0;
            uint64_t bytes = 0;
            words >> dtype >> elements >> bytes;
            answer_statistics(dtype, elements, read_text(bytes));
        } else if (command == "stall") {
            answer_stall();
        } else if (!carry_out(command, words)) {
            std::fprintf(stderr, "unknown command: %s\n", line.c_str());
            return 2;
        }
    }
}
