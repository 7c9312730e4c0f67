#include "runner.h"

#include <algorithm>
#include <utility>

#include "expectation.h"
#include "fault.h"
#include "probe.h"

namespace atbprobe::standin {

namespace {

using atb::Probe;

std::vector<int64_t> child_ids(const std::vector<int64_t>& parent, size_t index) {
    std::vector<int64_t> ids = parent;
    ids.push_back(static_cast<int64_t>(index));
    return ids;
}

// The probe gets types by name, shapes, and the paths that a dump would have with plain file names; nothing is copied.
std::vector<Probe::Tensor> described(const TensorList& tensors, const std::string& dir, Pass pass, bool are_inputs) {
    std::vector<Probe::Tensor> descriptions;
    for (size_t i = 0; i < tensors.size(); ++i) {
        const TensorShape& shape = tensors[i].shape;
        std::string path = dir + "/";
        path += tensor_file(pass, are_inputs, i, nullptr);
        descriptions.push_back({dtype_name(shape.dtype), "nd", shape.dims_text(), path});
    }
    return descriptions;
}

// The real host asks this while it makes up a report, whatever pass it is in.
Pass pass_of_report() { return Probe::IsSaveTensorBefore() ? Pass::kBefore : Pass::kAfter; }

void expect_tensors(Context& context, const DumpSite& site, Pass pass, const std::string& dir) {
    if (context.expectation() == nullptr) {
        return;
    }
    const bool inputs = pass == Pass::kBefore;
    const TensorList& tensors = inputs ? *site.inputs : *site.outputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
        std::string path = dir + "/";
        path += tensor_file(pass, inputs, i, inputs ? site.input_names : site.output_names);
        context.expectation()->put_tensor(site.round, tensors[i], path);
    }
}

}  // namespace

KernelRunner::KernelRunner(const Operation& operation, std::vector<int64_t> ids)
    : operation_(operation), ids_(std::move(ids)) {}

void KernelRunner::place(const std::string& parent_path, const std::string& kernel_name) {
    parent_path_ = parent_path;
    name_ = kernel_name;
    path_ = parent_path + "/" + std::to_string(ids_.back()) + "_" + kernel_name;
}

void KernelRunner::set_dirs(const std::string& head, const std::string& true_head) {
    dir_ = head.empty() ? "" : head + path_;
    parent_dir_ = head.empty() ? "" : head + parent_path_;
    true_dir_ = true_head + path_;
}

void KernelRunner::prepare(Context& context, const ShapeList& shapes) {
    if (!asked_) {
        asked_ = true;
        wanted_ = Probe::IsTensorNeedSave(ids_, operation_.name);
    }
    shapes_ = shapes;
    cached_ = own_tiling_ == shapes_ || context.tilings().holds(operation_.name, shapes_);
    if (cached_) {
        Probe::IsSaveTiling();
    }
}

void KernelRunner::fill_tiling(Context& context, uint64_t round) {
    if (wanted_ && Probe::IsExecuteCountInRange(round) && Probe::IsSaveTiling()) {
        std::vector<uint8_t> tiling;
        for (const TensorShape& shape : shapes_) {
            tiling.push_back(static_cast<uint8_t>(shape.bytes() & 0xFFU));
        }
        Probe::SaveTiling(tiling.data(), tiling.size(), dir_ + "/tilingdata.bin");
    }
    if (!cached_) {
        own_tiling_ = shapes_;
        context.tilings().put(operation_.name, shapes_);
    }
}

void KernelRunner::execute(Context& context, uint64_t round, const TensorList& inputs, TensorList& outputs) {
    const DumpSite site{round, wanted_, dir_, &inputs, &outputs, nullptr, nullptr};
    expect_tensors(context, site, Pass::kBefore, true_dir_);
    dump_kernel(context, site, Pass::kBefore);
    operation_.compute(inputs, outputs);
    if (context.fault() != nullptr && context.fault()->hits(id_path(ids_), path_, round)) {
        context.fault()->apply(outputs);
    }
    if (Probe::IsOverflowCheck()) {
        for (const Tensor& output : outputs) {
            const std::vector<float> values = to_floats(output);
            if (std::any_of(values.begin(), values.end(), [](float value) { return !(value - value == 0.0F); })) {
                Probe::ReportOverflowKernel(name_);
            }
        }
    }
    report_io(round, inputs, outputs);
    expect_tensors(context, site, Pass::kAfter, true_dir_);
    dump_kernel(context, site, Pass::kAfter);
}

void KernelRunner::report_io(uint64_t round, const TensorList& inputs, const TensorList& outputs) const {
    if (Probe::ReportKernelIOTensorEnable()) {
        const Pass pass = pass_of_report();
        // Neither the kernel's own name nor its directory: those of what it is a kernel for.
        Probe::ReportKernelIOTensor(round, operation_.name, operation_.param_json,
                                    described(inputs, parent_dir_, pass, true),
                                    described(outputs, parent_dir_, pass, false));
    }
}

Runner::Runner(const Operation& operation, std::vector<int64_t> ids, const std::string& parent_path)
    : operation_(operation), ids_(std::move(ids)) {
    path_ = (parent_path.empty() ? "" : parent_path + "/") + std::to_string(ids_.back()) + "_" + operation.name;
    for (size_t i = 0; i < operation.nodes.size(); ++i) {
        children_.push_back(std::make_unique<Runner>(*operation.nodes[i].operation, child_ids(ids_, i), path_));
    }
    if (operation.kind == OperationKind::kBuiltin) {
        kernel_ = std::make_unique<KernelRunner>(operation, child_ids(ids_, 0));
    }
}

void Runner::ask_descendants() {
    for (const auto& child : children_) {
        child->ask_descendants();
        child->ask();
    }
}

void Runner::ask() { wanted_ = Probe::IsTensorNeedSave(ids_, operation_.name); }

void Runner::set_dirs(const std::string& head, const std::string& true_head) {
    dir_ = head.empty() ? "" : head + path_;
    true_dir_ = true_head + path_;
    for (const auto& child : children_) {
        child->set_dirs(head, true_head);
    }
    if (kernel_) {
        const auto outputs = shapes_.begin() + static_cast<std::ptrdiff_t>(operation_.input_count);
        kernel_->place(path_, operation_.kernel_name({shapes_.begin(), outputs}, {outputs, shapes_.end()}));
        kernel_->set_dirs(head, true_head);
    }
}

void Runner::plan(WorkspacePlan& workspace, const ShapeList& inputs, const std::vector<size_t>& input_offsets,
                  std::vector<bool>& dying) {
    shapes_ = infer_all_shapes(operation_, inputs);
    const size_t first_internal = operation_.input_count + operation_.output_count;
    offsets_.assign(operation_.tensor_count(), 0);
    std::copy(input_offsets.begin(), input_offsets.end(), offsets_.begin());
    std::vector<bool> placed(operation_.tensor_count(), false);
    const auto& nodes = operation_.nodes;
    const auto read_later = [&nodes](size_t tensor, size_t after) {
        for (size_t i = after + 1; i < nodes.size(); ++i) {
            if (std::find(nodes[i].inputs.begin(), nodes[i].inputs.end(), tensor) != nodes[i].inputs.end()) {
                return true;
            }
        }
        return false;
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (const size_t tensor : nodes[i].outputs) {
            if (tensor >= first_internal && !placed[tensor]) {
                offsets_[tensor] = workspace.allocate(shapes_[tensor].bytes());
                placed[tensor] = true;
            }
        }
        ShapeList node_shapes;
        std::vector<size_t> node_offsets;
        std::vector<bool> node_dying;
        for (size_t k = 0; k < nodes[i].inputs.size(); ++k) {
            const size_t tensor = nodes[i].inputs[k];
            const bool ours = tensor >= first_internal || (tensor < operation_.input_count && dying[tensor]);
            const bool again =
                std::find(nodes[i].inputs.begin(), nodes[i].inputs.begin() + static_cast<std::ptrdiff_t>(k), tensor) !=
                nodes[i].inputs.begin() + static_cast<std::ptrdiff_t>(k);
            node_shapes.push_back(shapes_[tensor]);
            node_offsets.push_back(offsets_[tensor]);
            node_dying.push_back(ours && !again && !read_later(tensor, i));
            if (node_dying.back() && tensor < operation_.input_count) {
                dying[tensor] = false;
            }
        }
        children_[i]->plan(workspace, node_shapes, node_offsets, node_dying);
    }
    for (size_t i = 0; i < dying.size(); ++i) {
        if (dying[i]) {
            workspace.release(input_offsets[i]);
            dying[i] = false;
        }
    }
}

void Runner::bind(std::byte* workspace, TensorList inputs, TensorList outputs) {
    tensors_ = std::move(inputs);
    for (Tensor& output : outputs) {
        tensors_.push_back(std::move(output));
    }
    for (size_t i = tensors_.size(); i < operation_.tensor_count(); ++i) {
        tensors_.push_back({shapes_[i], workspace + offsets_[i]});
    }
    for (size_t i = 0; i < children_.size(); ++i) {
        const GraphNode& node = operation_.nodes[i];
        children_[i]->bind(workspace, select(node.inputs), select(node.outputs));
    }
}

TensorList Runner::select(const std::vector<size_t>& tensor_ids) const {
    TensorList selected;
    for (const size_t id : tensor_ids) {
        selected.push_back(tensors_[id]);
    }
    return selected;
}

void Runner::prepare(Context& context) {
    for (const auto& child : children_) {
        child->prepare(context);
    }
    if (kernel_) {
        kernel_->prepare(context, shapes_);
    }
    Probe::UpdateConfig();
}

void Runner::fill_tilings(Context& context, uint64_t round) {
    for (const auto& child : children_) {
        child->fill_tilings(context, round);
    }
    if (kernel_) {
        kernel_->fill_tiling(context, round);
    }
}

void Runner::execute(Context& context, uint64_t round) {
    const auto outputs_begin = tensors_.begin() + static_cast<std::ptrdiff_t>(operation_.input_count);
    const auto outputs_end = outputs_begin + static_cast<std::ptrdiff_t>(operation_.output_count);
    const TensorList inputs(tensors_.begin(), outputs_begin);
    TensorList outputs(outputs_begin, outputs_end);
    const DumpSite site{round, wanted_, dir_, &inputs, &outputs, &operation_.input_names, &operation_.output_names};

    expect_tensors(context, site, Pass::kBefore, true_dir_);
    dump_operation(context, site, Pass::kBefore);
    compute(context, round, inputs, outputs);
    expect_tensors(context, site, Pass::kAfter, true_dir_);
    if (context.expectation() != nullptr && operation_.kind == OperationKind::kBuiltin) {
        context.expectation()->put_param(operation_.param_json, true_dir_ + "/op_param.json");
    }
    dump_operation(context, site, Pass::kAfter);
    dump_param(site, operation_);
    report_io(round, inputs, outputs);
}

void Runner::compute(Context& context, uint64_t round, const TensorList& inputs, TensorList& outputs) {
    for (const auto& child : children_) {
        child->execute(context, round);
    }
    if (kernel_) {
        kernel_->execute(context, round, inputs, outputs);
    }
    if (operation_.kind == OperationKind::kPlugin) {
        operation_.compute(inputs, outputs);
    }
    if (context.fault() != nullptr && context.fault()->hits(id_path(ids_), path_, round)) {
        context.fault()->apply(outputs);
    }
}

void Runner::report_io(uint64_t round, const TensorList& inputs, const TensorList& outputs) const {
    // Of graphs it is asked, too, but they are not reported.
    if (Probe::ReportOperationIOTensorEnable() && operation_.kind != OperationKind::kGraph) {
        const std::string param = operation_.kind == OperationKind::kBuiltin ? operation_.param_json : "{}";
        const Pass pass = pass_of_report();
        Probe::ReportOperationIOTensor(round, operation_.name + "_" + id_path(ids_), param,
                                       described(inputs, dir_, pass, true), described(outputs, dir_, pass, false));
    }
}

}  // namespace atbprobe::standin
