// A host that makes the probe calls it is told to, one a line on stdin, and answers each on stdout: for replaying
// records of real hosts, and for questions that no model would ask.
//
//     <thread>\t<function>[\t<argument>...]\n   ->   true | false | done | threw
//
// Threads are numbered from 0, the main thread, and live until the end or until EndThread, after which a new one goes
// by their number; a call is finished before the next one is read. Arguments: IsExecuteCountInRange round;
// IsSaveTensorInSpecificDir dir; SaveTensor format dtype dims path hex; SaveParam json path; ReportOperationGraph name
// json; IsReportModelTopoInfo model; ReportModelTopoInfo model json; ReportOperationIOTensor and ReportKernelIOTensor
// round name inputs outputs, tensors being `dtype;format;shape;path` joined by `|`. The others take none, or none that
// matters.
// CloseDescriptors is what a host does of its own: it closes every descriptor from 3 on and opens /dev/null in place of
// each. After `fork` it is the child that reads on; the parent waits and ends as the child does. Dlopen loads a library
// for all to see, as a loader of plug-ins does. _exit is not answered.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using atb::Probe;
using Arguments = std::vector<std::string>;
using Function = std::function<const char*(const Arguments&)>;

const char* word(bool answer) { return answer ? "true" : "false"; }

Function question(bool (*function)()) {
    return [function](const Arguments&) { return word(function()); };
}

std::vector<uint8_t> bytes_of_hex(const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

const char* close_descriptors(const Arguments&) {
    constexpr int kDescriptors = 256;
    for (int descriptor = 3; descriptor < kDescriptors; ++descriptor) {
        close(descriptor);
    }
    for (int opened = 0; opened < kDescriptors - 1;) {
        opened = open("/dev/null", O_RDWR);
    }
    return "done";
}

const char* save_tensor(const Arguments& arguments) {
    const std::vector<uint8_t> data = bytes_of_hex(arguments.at(4));
    Probe::SaveTensor(arguments.at(0), arguments.at(1), arguments.at(2), data.data(), data.size(), arguments.at(3));
    return "done";
}

const char* fork_and_wait(const Arguments&) {
    const pid_t child = fork();
    if (child == 0) {
        return "done";
    }
    int status = 1;
    waitpid(child, &status, 0);
    std::exit(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

const char* load_library(const Arguments& arguments) {
    return word(dlopen(arguments.at(0).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> fields;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        fields.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return fields;
}

std::vector<Probe::Tensor> tensors_of(const std::string& text) {
    std::vector<Probe::Tensor> tensors;
    for (const std::string& tensor : text.empty() ? std::vector<std::string>() : split(text, '|')) {
        const std::vector<std::string> fields = split(tensor, ';');
        tensors.push_back({fields.at(0), fields.at(1), fields.at(2), fields.at(3)});
    }
    return tensors;
}

std::map<std::string, Function> function_table() {
    return {
        {"Dlopen", load_library},
        {"fork", fork_and_wait},
        {"_exit", [](const Arguments&) -> const char* { _exit(0); }},
        {"UpdateConfig",
         [](const Arguments&) {
             Probe::UpdateConfig();
             return "done";
         }},
        {"IsTensorNeedSave", [](const Arguments&) { return word(Probe::IsTensorNeedSave({0, 1}, "Operation")); }},
        {"IsExecuteCountInRange",
         [](const Arguments& a) { return word(Probe::IsExecuteCountInRange(std::stoull(a.at(0)))); }},
        {"IsSaveTensorInSpecificDir",
         [](const Arguments& a) { return word(Probe::IsSaveTensorInSpecificDir(a.at(0))); }},
        {"IsSaveTensorBefore", question(Probe::IsSaveTensorBefore)},
        {"IsSaveTensorAfter", question(Probe::IsSaveTensorAfter)},
        {"IsSaveTensorData", question(Probe::IsSaveTensorData)},
        {"IsSaveTensorDesc", question(Probe::IsSaveTensorDesc)},
        {"IsSaveChild", question(Probe::IsSaveChild)},
        {"IsSaveIntensor", question(Probe::IsSaveIntensor)},
        {"IsSaveOuttensor", question(Probe::IsSaveOuttensor)},
        {"IsSaveTiling", question(Probe::IsSaveTiling)},
        {"IsSaveParam", question(Probe::IsSaveParam)},
        {"IsOverflowCheck", question(Probe::IsOverflowCheck)},
        {"IsOverflowStop", question(Probe::IsOverflowStop)},
        {"ReportOperationGraphEnable", question(Probe::ReportOperationGraphEnable)},
        {"ReportOperationStatisticEnable", question(Probe::ReportOperationStatisticEnable)},
        {"ReportOperationIOTensorEnable", question(Probe::ReportOperationIOTensorEnable)},
        {"ReportKernelIOTensorEnable", question(Probe::ReportKernelIOTensorEnable)},
        {"ReportOperationGraph",
         [](const Arguments& a) {
             Probe::ReportOperationGraph(a.at(0), a.at(1));
             return "done";
         }},
        {"ReportOperationIOTensor",
         [](const Arguments& a) {
             Probe::ReportOperationIOTensor(std::stoull(a.at(0)), a.at(1), "{}", tensors_of(a.at(2)),
                                            tensors_of(a.at(3)));
             return "done";
         }},
        {"ReportKernelIOTensor",
         [](const Arguments& a) {
             Probe::ReportKernelIOTensor(std::stoull(a.at(0)), a.at(1), "{}", tensors_of(a.at(2)), tensors_of(a.at(3)));
             return "done";
         }},
        {"CloseDescriptors", close_descriptors},
        {"SaveTensor", save_tensor},
        {"SaveParam",
         [](const Arguments& a) {
             Probe::SaveParam(a.at(0), a.at(1));
             return "done";
         }},
        {"IsReportModelTopoInfo",
         [](const Arguments& a) { return word(atb_speed::SpeedProbe::IsReportModelTopoInfo(a.at(0))); }},
        {"ReportModelTopoInfo",
         [](const Arguments& a) {
             atb_speed::SpeedProbe::ReportModelTopoInfo(a.at(0), a.at(1));
             return "done";
         }},
    };
}

// Carries out one call at a time; the caller waits for it.
class Worker {
  public:
    Worker() : thread_([this] { run(); }) {}
    ~Worker() {
        hand_over(nullptr);
        thread_.join();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    const char* call(const std::function<const char*()>& work) {
        hand_over(&work);
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !busy_; });
        return answer_;
    }

  private:
    void hand_over(const std::function<const char*()>* work) {
        const std::lock_guard<std::mutex> lock(mutex_);
        work_ = work;
        busy_ = true;
        changed_.notify_all();
    }

    void run() {
        while (true) {
            std::unique_lock<std::mutex> lock(mutex_);
            changed_.wait(lock, [this] { return busy_; });
            if (work_ == nullptr) {
                return;
            }
            answer_ = (*work_)();
            busy_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<const char*()>* work_ = nullptr;
    const char* answer_ = "";
    bool busy_ = false;
    std::thread thread_;
};

// As a host would that survives an exception which leaves the probe.
const char* answer_of(const Function& function, const Arguments& arguments) {
    try {
        return function(arguments);
    } catch (const std::exception&) {
        return "threw";
    }
}

const char* on_thread(std::map<std::string, std::unique_ptr<Worker>>& workers, const std::string& thread,
                      const std::function<const char*()>& work) {
    if (thread == "0") {
        return work();
    }
    std::unique_ptr<Worker>& worker = workers[thread];
    if (worker == nullptr) {
        worker = std::make_unique<Worker>();
    }
    return worker->call(work);
}

}  // namespace

int main() {
    const std::map<std::string, Function> functions = function_table();
    std::map<std::string, std::unique_ptr<Worker>> workers;
    char* line = nullptr;
    size_t capacity = 0;
    for (ssize_t length = 0; (length = getline(&line, &capacity, stdin)) > 0;) {
        const auto fields = split(std::string(line, static_cast<size_t>(length - 1)), '\t');
        if (fields.at(1) == "EndThread") {
            workers.erase(fields.at(0));
            std::puts("done");
            std::fflush(stdout);
            continue;
        }
        const Function& function = functions.at(fields.at(1));
        const Arguments arguments(fields.begin() + 2, fields.end());
        const char* answer = on_thread(workers, fields.at(0), [&] { return answer_of(function, arguments); });
        std::printf("%s\n", answer);
        std::fflush(stdout);
    }
    std::free(line);
    return 0;
}
