#include "layer_operation.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "acl_runtime.h"
#include "probe.h"

namespace atbprobe::standin {

namespace {

using atb::Probe;

std::atomic<int64_t> next_layer_id{0};

}  // namespace

LayerOperation::LayerOperation(OperationPtr operation) : operation_(std::move(operation)) {}

ShapeList LayerOperation::output_shapes(const ShapeList& inputs) const {
    const ShapeList all = infer_all_shapes(*operation_, inputs);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(operation_->input_count);
    return {begin, begin + static_cast<std::ptrdiff_t>(operation_->output_count)};
}

void LayerOperation::setup_first_time() {
    const std::vector<int64_t> ids{next_layer_id++};
    runner_ = std::make_unique<Runner>(*operation_, ids, "");
    runner_->ask_descendants();
    if (Probe::ReportOperationGraphEnable()) {
        Probe::ReportOperationGraph(operation_->graph_type() + "_" + id_path(ids), graph_json(*operation_, ids));
    }
}

void LayerOperation::setup(Context& context, const TensorList& inputs, const TensorList& outputs) {
    if (!runner_) {
        setup_first_time();
    }
    runner_->ask();
    const bool dirs_wanted = Probe::IsSaveTensorDesc();

    ShapeList shapes;
    for (const Tensor& input : inputs) {
        shapes.push_back(input.shape);
    }
    WorkspacePlan plan;
    const std::vector<size_t> no_offsets(inputs.size(), 0);
    std::vector<bool> dying(inputs.size(), false);
    runner_->plan(plan, shapes, no_offsets, dying);
    runner_->bind(context.workspace(plan.size()), inputs, outputs);
    runner_->set_dirs(dirs_wanted ? dir_head() : "", dir_head());

    runner_->prepare(context);
    runner_->fill_tilings(context, execute_count_);
    if (Probe::ReportOperationStatisticEnable()) {
        Probe::ReportOperationSetupStatistic(execute_count_, operation_->name, "{}");
    }
    ++setup_count_;
    ++context.counters().setups;
}

void LayerOperation::execute(Context& context) {
    runner_->execute(context, execute_count_);
    ++execute_count_;
    ++context.counters().executes;
}

std::string LayerOperation::dir_head() const {
    int32_t device = -1;
    aclrtGetDevice(&device);
    return std::to_string(device) + "_" + std::to_string(getpid()) + "/" + std::to_string(setup_count_) + "/";
}

}  // namespace atbprobe::standin
