// The exported probe symbols, as libatb declares them (C++, no extern "C"). The only file that sees the host's
// std::string; it is compiled once for each value of _GLIBCXX_USE_CXX11_ABI, takes data and size out of the strings,
// and hands on to probe_core.
#include <cstdint>
#include <string>
#include <vector>

#include "probe_core.h"

#define ATBPROBE_EXPORT __attribute__((visibility("default")))

namespace atb {

class ATBPROBE_EXPORT Probe {
  public:
    struct Tensor {
        std::string dtype;
        std::string format;
        std::string shape;
        std::string path;
    };

    static void UpdateConfig();
    static bool IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& op_type);
    static bool IsExecuteCountInRange(const uint64_t round);
    static bool IsSaveTensorInSpecificDir(const std::string& dir);
    static bool IsSaveTensorBefore();
    static bool IsSaveTensorAfter();
    static bool IsSaveTensorData();
    static bool IsSaveTensorDesc();
    static bool IsSaveChild();
    static bool IsSaveIntensor();
    static bool IsSaveOuttensor();
    static void SaveTensor(const std::string& format, const std::string& dtype, const std::string& dims,
                           const void* host_data, uint64_t bytes, const std::string& path);
    static bool IsSaveTiling();
    static void SaveTiling(const uint8_t* data, uint64_t bytes, const std::string& path);
    static bool IsSaveParam();
    static void SaveParam(const std::string& param, const std::string& path);
    static bool ReportOperationGraphEnable();
    static void ReportOperationGraph(const std::string& op_name, const std::string& graph);
    static bool ReportOperationStatisticEnable();
    static void ReportOperationSetupStatistic(const uint64_t round, const std::string& op_name,
                                              const std::string& statistic);
    static void ReportOperationExecuteStatistic(const uint64_t round, const std::string& op_name,
                                                const std::string& statistic);
    static bool ReportOperationIOTensorEnable();
    static void ReportOperationIOTensor(const size_t round, const std::string& op_name, const std::string& op_param,
                                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
    static bool ReportKernelIOTensorEnable();
    static void ReportKernelIOTensor(const size_t round, const std::string& op_name, const std::string& op_param,
                                     const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
    static bool IsOverflowCheck();
    static bool IsOverflowStop();
    static void ReportOverflowKernel(const std::string& kernel);
};

using atbprobe::GraphKind;
using atbprobe::OpKind;
using atbprobe::Pass;

namespace {

std::string_view view_of(const std::string& text) { return {text.data(), text.size()}; }

atbprobe::TensorDescription describe(const void* tensors, size_t index) {
    const Probe::Tensor& tensor = static_cast<const Probe::Tensor*>(tensors)[index];
    return {view_of(tensor.dtype), view_of(tensor.format), view_of(tensor.shape), view_of(tensor.path)};
}

void report_io(OpKind kind, uint64_t round, const std::string& name, const std::vector<Probe::Tensor>& inputs,
               const std::vector<Probe::Tensor>& outputs) {
    atbprobe::probe_report_io({kind,
                               round,
                               view_of(name),
                               {inputs.data(), inputs.size(), describe},
                               {outputs.data(), outputs.size(), describe}});
}

}  // namespace

void Probe::UpdateConfig() { atbprobe::probe_setup_done(); }

bool Probe::IsTensorNeedSave(const std::vector<int64_t>&, const std::string&) { return atbprobe::probe_is_on(); }
bool Probe::IsExecuteCountInRange(const uint64_t round) { return atbprobe::probe_ask_round(round); }
bool Probe::IsSaveTensorInSpecificDir(const std::string& dir) {
    return atbprobe::probe_ask_dir(dir.data(), dir.size());
}
bool Probe::IsSaveTensorBefore() { return atbprobe::probe_ask_pass(Pass::kBefore); }
bool Probe::IsSaveTensorAfter() { return atbprobe::probe_ask_pass(Pass::kAfter); }
bool Probe::IsSaveTensorData() { return atbprobe::probe_is_on(); }
bool Probe::IsSaveTensorDesc() { return atbprobe::probe_is_on(); }
bool Probe::IsSaveChild() { return false; }
bool Probe::IsSaveIntensor() { return atbprobe::probe_is_on(); }
bool Probe::IsSaveOuttensor() { return atbprobe::probe_is_on(); }

void Probe::SaveTensor(const std::string& format, const std::string& dtype, const std::string& dims,
                       const void* host_data, uint64_t bytes, const std::string& path) {
    atbprobe::probe_save_tensor({view_of(dtype), view_of(format), view_of(dims), host_data, bytes, view_of(path)});
}

bool Probe::IsSaveTiling() { return false; }
void Probe::SaveTiling(const uint8_t*, uint64_t, const std::string&) {}

bool Probe::IsSaveParam() { return atbprobe::probe_ask_param(); }
void Probe::SaveParam(const std::string& param, const std::string& path) {
    atbprobe::probe_save_param({param.data(), param.size()}, {path.data(), path.size()});
}

bool Probe::ReportOperationGraphEnable() { return atbprobe::probe_is_on(); }
void Probe::ReportOperationGraph(const std::string& op_name, const std::string& graph) {
    atbprobe::probe_report_graph(GraphKind::kLayer, {op_name.data(), op_name.size()}, {graph.data(), graph.size()});
}

bool Probe::ReportOperationStatisticEnable() { return false; }
void Probe::ReportOperationSetupStatistic(const uint64_t, const std::string&, const std::string&) {}
void Probe::ReportOperationExecuteStatistic(const uint64_t, const std::string&, const std::string&) {}

bool Probe::ReportOperationIOTensorEnable() { return atbprobe::probe_operation_executed(); }
void Probe::ReportOperationIOTensor(const size_t round, const std::string& op_name, const std::string&,
                                    const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    report_io(OpKind::kOperation, round, op_name, inputs, outputs);
}
bool Probe::ReportKernelIOTensorEnable() { return atbprobe::probe_kernel_executed(); }
void Probe::ReportKernelIOTensor(const size_t round, const std::string& op_name, const std::string&,
                                 const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    report_io(OpKind::kKernel, round, op_name, inputs, outputs);
}

bool Probe::IsOverflowCheck() { return false; }
bool Probe::IsOverflowStop() { return false; }
void Probe::ReportOverflowKernel(const std::string&) {}

}  // namespace atb

namespace atb_speed {

class ATBPROBE_EXPORT SpeedProbe {
  public:
    static bool IsReportModelTopoInfo(const std::string& model);
    static void ReportModelTopoInfo(const std::string& model, const std::string& graph);
};

bool SpeedProbe::IsReportModelTopoInfo(const std::string& model) {
    return atbprobe::probe_ask_model_topology({model.data(), model.size()});
}
void SpeedProbe::ReportModelTopoInfo(const std::string& model_name, const std::string& graph) {
    atbprobe::probe_report_graph(atbprobe::GraphKind::kModel, {model_name.data(), model_name.size()},
                                 {graph.data(), graph.size()});
}

}  // namespace atb_speed
