// What an operation is, apart from any run of it: its name, its tensors' names, its shapes and its
// arithmetic. Built-in operations call one kernel; plug-in operations compute by themselves; graphs consist
// of other operations.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor.h"

namespace atbprobe::standin {

enum class OperationKind { kBuiltin, kPlugin, kGraph };

struct Operation;
using OperationPtr = std::shared_ptr<const Operation>;

// Tensor ids index the graph's list inputs + outputs + internals.
struct GraphNode {
    OperationPtr operation;
    std::vector<size_t> inputs;
    std::vector<size_t> outputs;
};

struct Operation {
    OperationKind kind = OperationKind::kPlugin;
    std::string name;  // its type in questions, its name in paths
    size_t input_count = 0;
    size_t output_count = 1;
    std::vector<std::string> input_names;  // of parameters, as files are named after them; empty: plain file names
    std::vector<std::string> output_names;
    std::string param_json;  // built-in operations: what SaveParam gets

    std::function<ShapeList(const ShapeList& inputs)> infer_shapes;                             // built-in, plug-in
    std::function<void(const TensorList& inputs, TensorList& outputs)> compute;                 // built-in, plug-in
    std::function<std::string(const ShapeList& inputs, const ShapeList& outputs)> kernel_name;  // built-in

    size_t internal_count = 0;  // graphs
    std::vector<GraphNode> nodes;

    // As the reported graph calls it: plug-ins hide behind one name.
    const std::string& graph_type() const;
    size_t tensor_count() const { return input_count + output_count + internal_count; }
};

// Shapes of all tensors of an operation: inputs, outputs, internals.
ShapeList infer_all_shapes(const Operation& operation, const ShapeList& inputs);

// Joins operations by tensor names. Names that are neither inputs nor outputs become internals, in order of
// appearance.
class GraphBuilder {
  public:
    GraphBuilder(std::string name, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
    GraphBuilder& add(OperationPtr operation, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);
    OperationPtr build();

  private:
    size_t tensor_id(const std::string& name);

    std::shared_ptr<Operation> graph_;
    std::map<std::string, size_t> tensor_ids_;
};

// "2_1" of {2, 1}.
std::string id_path(const std::vector<int64_t>& ids);

// The graph as ReportOperationGraph wants it: JSON with the keys of every object in alphabetical order.
std::string graph_json(const Operation& operation, const std::vector<int64_t>& ids);

}  // namespace atbprobe::standin
