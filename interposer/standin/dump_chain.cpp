#include "dump_chain.h"

#include "probe.h"

namespace atbprobe::standin {

namespace {

using atb::Probe;

bool pass_wanted(Pass pass) { return pass == Pass::kBefore ? Probe::IsSaveTensorBefore() : Probe::IsSaveTensorAfter(); }

void save_tensor(Context& context, const Tensor& tensor, const std::string& path) {
    const std::byte* host_data = context.copy_to_host(tensor);
    Probe::SaveTensor(std::to_string(kFormatNd), std::to_string(static_cast<int>(tensor.shape.dtype)),
                      tensor.shape.dims_text(), host_data, tensor.shape.bytes(), path);
}

// Everything is copied in both passes: the host does not know which half is worth keeping.
void save_tensors(Context& context, const DumpSite& site, Pass pass) {
    if (!Probe::IsSaveTensorData()) {
        return;
    }
    context.synchronise_stream();
    for (size_t i = 0; i < site.inputs->size(); ++i) {
        save_tensor(context, (*site.inputs)[i], site.dir + "/" + tensor_file(pass, true, i, site.input_names));
    }
    for (size_t i = 0; i < site.outputs->size(); ++i) {
        save_tensor(context, (*site.outputs)[i], site.dir + "/" + tensor_file(pass, false, i, site.output_names));
    }
}

}  // namespace

void dump_operation(Context& context, const DumpSite& site, Pass pass) {
    if (Probe::IsExecuteCountInRange(site.round) && site.wanted && Probe::IsSaveTensorInSpecificDir(site.dir) &&
        pass_wanted(pass)) {
        save_tensors(context, site, pass);
    }
}

void dump_kernel(Context& context, const DumpSite& site, Pass pass) {
    if (site.wanted && Probe::IsExecuteCountInRange(site.round) && pass_wanted(pass) &&
        Probe::IsSaveTensorInSpecificDir(site.dir)) {
        save_tensors(context, site, pass);
    }
}

void dump_param(const DumpSite& site, const Operation& operation) {
    if (Probe::IsExecuteCountInRange(site.round) && site.wanted && Probe::IsSaveTensorInSpecificDir(site.dir) &&
        Probe::IsSaveParam() && operation.kind == OperationKind::kBuiltin) {
        Probe::SaveParam(operation.param_json, site.dir + "/op_param.json");
    }
}

std::string tensor_file(Pass pass, bool is_input, size_t index, const std::vector<std::string>* names) {
    std::string file = pass == Pass::kBefore ? "before/" : "after/";
    file += (is_input ? "intensor" : "outtensor") + std::to_string(index);
    if (names != nullptr && index < names->size()) {
        file += "_" + (*names)[index];
    }
    return file + ".bin";
}

}  // namespace atbprobe::standin
