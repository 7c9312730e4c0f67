#include "operation.h"

#include <utility>

namespace atbprobe::standin {

const std::string& Operation::graph_type() const {
    static const std::string plugin_type = "PluginOperation";
    return kind == OperationKind::kPlugin ? plugin_type : name;
}

ShapeList infer_all_shapes(const Operation& operation, const ShapeList& inputs) {
    ShapeList shapes = inputs;
    if (operation.kind != OperationKind::kGraph) {
        for (TensorShape& output : operation.infer_shapes(inputs)) {
            shapes.push_back(std::move(output));
        }
        return shapes;
    }
    shapes.resize(operation.tensor_count());
    for (const GraphNode& node : operation.nodes) {
        ShapeList node_inputs;
        for (const size_t id : node.inputs) {
            node_inputs.push_back(shapes[id]);
        }
        const ShapeList node_shapes = infer_all_shapes(*node.operation, node_inputs);
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            shapes[node.outputs[i]] = node_shapes[node.inputs.size() + i];
        }
    }
    return shapes;
}

GraphBuilder::GraphBuilder(std::string name, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs)
    : graph_(std::make_shared<Operation>()) {
    graph_->kind = OperationKind::kGraph;
    graph_->name = std::move(name);
    graph_->input_count = inputs.size();
    graph_->output_count = outputs.size();
    for (const std::string& tensor : inputs) {
        tensor_ids_.emplace(tensor, tensor_ids_.size());
    }
    for (const std::string& tensor : outputs) {
        tensor_ids_.emplace(tensor, tensor_ids_.size());
    }
}

GraphBuilder& GraphBuilder::add(OperationPtr operation, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
    GraphNode node{std::move(operation), {}, {}};
    for (const std::string& tensor : inputs) {
        node.inputs.push_back(tensor_id(tensor));
    }
    for (const std::string& tensor : outputs) {
        node.outputs.push_back(tensor_id(tensor));
    }
    graph_->nodes.push_back(std::move(node));
    return *this;
}

OperationPtr GraphBuilder::build() { return graph_; }

size_t GraphBuilder::tensor_id(const std::string& name) {
    const auto [entry, is_new] = tensor_ids_.emplace(name, tensor_ids_.size());
    if (is_new) {
        ++graph_->internal_count;
    }
    return entry->second;
}

std::string id_path(const std::vector<int64_t>& ids) {
    std::string text;
    for (const int64_t id : ids) {
        text += (text.empty() ? "" : "_") + std::to_string(id);
    }
    return text;
}

namespace {

std::string json_array(const std::vector<size_t>& numbers) {
    std::string text;
    for (const size_t number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return "[" + text + "]";
}

// `node` is the place of the operation in its parent, null for the outermost one.
std::string node_json(const Operation& operation, const std::vector<int64_t>& ids, const GraphNode* node) {
    std::string json = "{";
    if (node != nullptr) {
        json += "\"inTensorIds\":" + json_array(node->inputs) + ",";
    }
    json += "\"inTensorNum\":" + std::to_string(operation.input_count);
    if (operation.kind == OperationKind::kGraph) {
        json += ",\"internalTensorNum\":" + std::to_string(operation.internal_count) + ",\"nodes\":[";
        for (size_t i = 0; i < operation.nodes.size(); ++i) {
            std::vector<int64_t> child_ids = ids;
            child_ids.push_back(static_cast<int64_t>(i));
            json += (i == 0 ? "" : ",") + node_json(*operation.nodes[i].operation, child_ids, &operation.nodes[i]);
        }
        json += ']';
    }
    json += ",\"opName\":\"" + operation.graph_type() + "_" + id_path(ids) + "\"";
    json += ",\"opType\":\"" + operation.graph_type() + "\"";
    if (node != nullptr) {
        json += ",\"outTensorIds\":" + json_array(node->outputs);
    }
    json += ",\"outTensorNum\":" + std::to_string(operation.output_count) + ",\"param\":";
    switch (operation.kind) {
        case OperationKind::kBuiltin:
            json += operation.param_json;
            break;
        case OperationKind::kPlugin:
            json += "null";
            break;
        case OperationKind::kGraph:
            json += "\"\"";
            break;
    }
    return json + "}";
}

}  // namespace

std::string graph_json(const Operation& operation, const std::vector<int64_t>& ids) {
    return node_json(operation, ids, nullptr);
}

}  // namespace atbprobe::standin
