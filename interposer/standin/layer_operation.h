// A layer-level operation of a model, such as one decoder layer: what a model library sets up and executes.
#pragma once

#include <cstdint>
#include <memory>

#include "context.h"
#include "operation.h"
#include "runner.h"

namespace atbprobe::standin {

class LayerOperation {
  public:
    explicit LayerOperation(OperationPtr operation);

    const Operation& operation() const { return *operation_; }
    ShapeList output_shapes(const ShapeList& inputs) const;

    // The id of an operation is the number of operations of this process that were first set up before it.
    void setup(Context& context, const TensorList& inputs, const TensorList& outputs);
    // May run on another thread than setup.
    void execute(Context& context);

  private:
    void setup_first_time();
    std::string dir_head() const;

    OperationPtr operation_;
    std::unique_ptr<Runner> runner_;
    uint64_t setup_count_ = 0;
    uint64_t execute_count_ = 0;
};

}  // namespace atbprobe::standin
