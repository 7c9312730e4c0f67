// A probe for tests that writes down every call it gets, one JSON object a line, in the form of the records
// of the real host under tests/data/host_traces. Preload it and set
//   STANDIN_RECORD_FILE     the file to append to
//   STANDIN_RECORD_ANSWERS  everything: those of a probe that dumps everything (the default); nothing: always
//   no;
//                           yes: always yes
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "probe.h"

namespace {

enum class Answers { kEverything, kNothing, kYes };

Answers answers() {
    const char* text = std::getenv("STANDIN_RECORD_ANSWERS");
    if (text == nullptr || std::strcmp(text, "everything") == 0) {
        return Answers::kEverything;
    }
    return std::strcmp(text, "yes") == 0 ? Answers::kYes : Answers::kNothing;
}

int open_record() {
    const char* path = std::getenv("STANDIN_RECORD_FILE");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            constexpr char kHexDigits[] = "0123456789abcdef";
            json += std::string("\\u00") + kHexDigits[c / 16] + kHexDigits[c % 16];
        } else {
            json += c;
        }
    }
    return json + "\"";
}

std::string field(const char* name, const std::string& json) { return "\"" + std::string(name) + "\":" + json; }

std::string text_field(const char* name, const std::string& text) { return field(name, quoted(text)); }

// FNV-1a, enough to tell one tensor's bytes from another's.
std::string hash_of(const void* data, uint64_t bytes) {
    uint64_t hash = 0xCBF29CE484222325U;
    for (uint64_t i = 0; i < bytes; ++i) {
        hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3U;
    }
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

std::string tensors_json(const std::vector<atb::Probe::Tensor>& tensors) {
    std::string json;
    for (const auto& tensor : tensors) {
        json += (json.empty() ? "{" : ",{") + text_field("dtype", tensor.dtype) + "," +
                text_field("format", tensor.format) + "," + text_field("shape", tensor.shape) + "," +
                text_field("filePath", tensor.file_path) + "}";
    }
    return "[" + json + "]";
}

// 0 for the main thread, then in order of first call.
int thread_number() {
    static int next = 1;
    thread_local int number = -1;
    if (number < 0) {
        number = syscall(SYS_gettid) == getpid() ? 0 : next++;
    }
    return number;
}

// `result` is empty for functions without one.
void write_line(const char* function, const std::string& args, const char* result) {
    static std::mutex mutex;
    static const int file = open_record();
    static uint64_t sequence = 0;
    const std::lock_guard<std::mutex> lock(mutex);
    std::string line = "{" + field("seq", std::to_string(sequence++)) + "," + field("pid", std::to_string(getpid())) +
                       "," + field("thr", std::to_string(thread_number())) + "," +
                       field("tid", std::to_string(syscall(SYS_gettid))) + "," + text_field("fn", function) + "," +
                       field("args", "{" + args + "}");
    if (*result != '\0') {
        line += "," + field("ret", result);
    }
    line += "}\n";
    if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        std::abort();  // a record with holes is worse than none
    }
}

void note(const char* function, const std::string& args) { write_line(function, args, ""); }

// Questions about what to dump, and questions that a dumping probe answers with no.
bool wanted(const char* function, const std::string& args = "") {
    const bool answer = answers() != Answers::kNothing;
    write_line(function, args, answer ? "true" : "false");
    return answer;
}

bool unwanted(const char* function) {
    const bool answer = answers() == Answers::kYes;
    write_line(function, "", answer ? "true" : "false");
    return answer;
}

std::string io_args(size_t count, const std::string& name, const std::string& param,
                    const std::vector<atb::Probe::Tensor>& inputs, const std::vector<atb::Probe::Tensor>& outputs) {
    return field("executeCount", std::to_string(count)) + "," + text_field("opName", name) + "," +
           text_field("opParam", param) + "," + field("inTensors", tensors_json(inputs)) + "," +
           field("outTensors", tensors_json(outputs));
}

std::string statistic_args(uint64_t count, const std::string& name, const std::string& statistic) {
    return field("executeCount", std::to_string(count)) + "," + text_field("opName", name) + "," +
           text_field("statistic", statistic);
}

}  // namespace

namespace atb {

void Probe::UpdateConfig() { note("UpdateConfig", ""); }

bool Probe::IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& op_type) {
    std::string list;
    for (const int64_t id : ids) {
        list += (list.empty() ? "" : ",") + std::to_string(id);
    }
    return wanted("IsTensorNeedSave", field("ids", "[" + list + "]") + "," + text_field("opType", op_type));
}

bool Probe::IsExecuteCountInRange(const uint64_t round) {
    return wanted("IsExecuteCountInRange", field("executeCount", std::to_string(round)));
}

bool Probe::IsSaveTensorInSpecificDir(const std::string& dir) {
    return wanted("IsSaveTensorInSpecificDir", text_field("tensorDir", dir));
}

bool Probe::IsSaveTensorBefore() { return wanted("IsSaveTensorBefore"); }
bool Probe::IsSaveTensorAfter() { return wanted("IsSaveTensorAfter"); }
bool Probe::IsSaveTensorData() { return wanted("IsSaveTensorData"); }
bool Probe::IsSaveTensorDesc() { return wanted("IsSaveTensorDesc"); }
bool Probe::IsSaveChild() { return unwanted("IsSaveChild"); }
bool Probe::IsSaveIntensor() { return wanted("IsSaveIntensor"); }
bool Probe::IsSaveOuttensor() { return wanted("IsSaveOuttensor"); }

void Probe::SaveTensor(const std::string& format, const std::string& dtype, const std::string& dims,
                       const void* host_data, uint64_t bytes, const std::string& path) {
    note("SaveTensor", text_field("format", format) + "," + text_field("dtype", dtype) + "," +
                           text_field("dims", dims) + "," +
                           text_field("hostData", host_data == nullptr ? "null" : "set") + "," +
                           field("dataSize", std::to_string(bytes)) + "," + text_field("filePath", path) + "," +
                           text_field("fnv", host_data == nullptr ? "" : hash_of(host_data, bytes)));
}

bool Probe::IsSaveTiling() { return unwanted("IsSaveTiling"); }

void Probe::SaveTiling(const uint8_t*, uint64_t bytes, const std::string& path) {
    note("SaveTiling", field("dataSize", std::to_string(bytes)) + "," + text_field("filePath", path));
}

bool Probe::IsSaveParam() { return wanted("IsSaveParam"); }

void Probe::SaveParam(const std::string& json, const std::string& path) {
    note("SaveParam", text_field("param", json) + "," + text_field("filePath", path));
}

bool Probe::ReportOperationGraphEnable() { return wanted("ReportOperationGraphEnable"); }

void Probe::ReportOperationGraph(const std::string& op_name, const std::string& graph_json) {
    note("ReportOperationGraph", text_field("opName", op_name) + "," + text_field("graph", graph_json));
}

bool Probe::ReportOperationStatisticEnable() { return unwanted("ReportOperationStatisticEnable"); }

void Probe::ReportOperationSetupStatistic(const uint64_t count, const std::string& op_name,
                                          const std::string& statistic) {
    note("ReportOperationSetupStatistic", statistic_args(count, op_name, statistic));
}

void Probe::ReportOperationExecuteStatistic(const uint64_t count, const std::string& op_name,
                                            const std::string& statistic) {
    note("ReportOperationExecuteStatistic", statistic_args(count, op_name, statistic));
}

bool Probe::ReportOperationIOTensorEnable() { return unwanted("ReportOperationIOTensorEnable"); }

void Probe::ReportOperationIOTensor(const size_t count, const std::string& op_name, const std::string& op_param,
                                    const std::vector<Tensor>& in_tensors, const std::vector<Tensor>& out_tensors) {
    note("ReportOperationIOTensor", io_args(count, op_name, op_param, in_tensors, out_tensors));
}

bool Probe::ReportKernelIOTensorEnable() { return unwanted("ReportKernelIOTensorEnable"); }

void Probe::ReportKernelIOTensor(const size_t count, const std::string& op_name, const std::string& op_param,
                                 const std::vector<Tensor>& in_tensors, const std::vector<Tensor>& out_tensors) {
    note("ReportKernelIOTensor", io_args(count, op_name, op_param, in_tensors, out_tensors));
}

bool Probe::IsOverflowCheck() { return unwanted("IsOverflowCheck"); }
bool Probe::IsOverflowStop() { return unwanted("IsOverflowStop"); }
void Probe::ReportOverflowKernel(const std::string& kernel) {
    note("ReportOverflowKernel", text_field("kernel", kernel));
}

}  // namespace atb

namespace atb_speed {

bool SpeedProbe::IsReportModelTopoInfo(const std::string& model) {
    return wanted("IsReportModelTopoInfo", text_field("model", model));
}

void SpeedProbe::ReportModelTopoInfo(const std::string& model, const std::string& graph_json) {
    note("ReportModelTopoInfo", text_field("model", model) + "," + text_field("graph", graph_json));
}

}  // namespace atb_speed
