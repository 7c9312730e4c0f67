// The probe functions of libatb.so, as its headers declare them. The library's own definitions (probe.cpp) do
// nothing; a preloaded library that defines the same symbols takes their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Never inlined and always exported: the dynamic linker must be able to bind every call elsewhere.
#define STANDIN_INTERPOSABLE __attribute__((noinline, visibility("default")))

namespace atb {

class Probe {
  public:
    struct Tensor {
        std::string dtype;
        std::string format;
        std::string shape;
        std::string file_path;
    };

    STANDIN_INTERPOSABLE static void UpdateConfig();
    STANDIN_INTERPOSABLE static bool IsTensorNeedSave(const std::vector<int64_t>& ids, const std::string& op_type);
    STANDIN_INTERPOSABLE static bool IsExecuteCountInRange(const uint64_t round);
    STANDIN_INTERPOSABLE static bool IsSaveTensorInSpecificDir(const std::string& dir);
    STANDIN_INTERPOSABLE static bool IsSaveTensorBefore();
    STANDIN_INTERPOSABLE static bool IsSaveTensorAfter();
    STANDIN_INTERPOSABLE static bool IsSaveTensorData();
    STANDIN_INTERPOSABLE static bool IsSaveTensorDesc();
    STANDIN_INTERPOSABLE static bool IsSaveChild();
    STANDIN_INTERPOSABLE static bool IsSaveIntensor();
    STANDIN_INTERPOSABLE static bool IsSaveOuttensor();
    STANDIN_INTERPOSABLE static void SaveTensor(const std::string& format, const std::string& dtype,
                                                const std::string& dims, const void* host_data, uint64_t bytes,
                                                const std::string& path);
    STANDIN_INTERPOSABLE static bool IsSaveTiling();
    STANDIN_INTERPOSABLE static void SaveTiling(const uint8_t* data, uint64_t bytes, const std::string& path);
    STANDIN_INTERPOSABLE static bool IsSaveParam();
    STANDIN_INTERPOSABLE static void SaveParam(const std::string& json, const std::string& path);
    STANDIN_INTERPOSABLE static bool ReportOperationGraphEnable();
    STANDIN_INTERPOSABLE static void ReportOperationGraph(const std::string& op_name, const std::string& graph_json);
    STANDIN_INTERPOSABLE static bool ReportOperationStatisticEnable();
    STANDIN_INTERPOSABLE static void ReportOperationSetupStatistic(const uint64_t count, const std::string& op_name,
                                                                   const std::string& statistic);
    STANDIN_INTERPOSABLE static void ReportOperationExecuteStatistic(const uint64_t count, const std::string& op_name,
                                                                     const std::string& statistic);
    STANDIN_INTERPOSABLE static bool ReportOperationIOTensorEnable();
    STANDIN_INTERPOSABLE static void ReportOperationIOTensor(const size_t count, const std::string& op_name,
                                                             const std::string& op_param,
                                                             const std::vector<Tensor>& in_tensors,
                                                             const std::vector<Tensor>& out_tensors);
    STANDIN_INTERPOSABLE static bool ReportKernelIOTensorEnable();
    STANDIN_INTERPOSABLE static void ReportKernelIOTensor(const size_t count, const std::string& op_name,
                                                          const std::string& op_param,
                                                          const std::vector<Tensor>& in_tensors,
                                                          const std::vector<Tensor>& out_tensors);
    STANDIN_INTERPOSABLE static bool IsOverflowCheck();
    STANDIN_INTERPOSABLE static bool IsOverflowStop();
    STANDIN_INTERPOSABLE static void ReportOverflowKernel(const std::string& kernel);
};

}  // namespace atb

namespace atb_speed {

class SpeedProbe {
  public:
    STANDIN_INTERPOSABLE static bool IsReportModelTopoInfo(const std::string& model);
    STANDIN_INTERPOSABLE static void ReportModelTopoInfo(const std::string& model, const std::string& graph_json);
};

}  // namespace atb_speed
