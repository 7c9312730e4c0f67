// The model: prefill and decode are two models of layer-level operations over the same weights and caches, as
// in serving frameworks. A request is a prompt (one prefill step) and the tokens decoded after it, greedily.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "layer_operation.h"
#include "model_weights.h"
#include "options.h"

namespace atbprobe::standin {

// Runs a piece of work, here or on another thread, and returns when it is done.
using Executor = std::function<void(const std::function<void()>& work)>;

class DecoderModel {
  public:
    DecoderModel(const ModelOptions& options, Context& context, Executor executor);

    // Returns the token that the step decoded.
    int64_t step();

  private:
    // The layer-level operations of one phase and the tensors between them.
    struct Phase {
        Phase(const ModelOptions& options, std::string name, const std::string& layer_name, int64_t tokens);

        std::string model_name;
        LayerOperation embedding;
        std::vector<std::unique_ptr<LayerOperation>> layers;
        LayerOperation final_norm;
        LayerOperation lm_head;
        DeviceTensor token_ids;
        DeviceTensor hidden[2];
        DeviceTensor logits;
        bool reported = false;
    };

    int64_t run(Phase& phase, const std::vector<int64_t>& tokens);
    void run(LayerOperation& operation, const TensorList& inputs, const TensorList& outputs);
    void report_topology(Phase& phase) const;
    std::vector<int64_t> prompt() const;
    TensorList layer_inputs(size_t layer, const Tensor& hidden);

    const ModelOptions options_;
    Context& context_;
    Executor executor_;
    ModelWeights weights_;
    std::vector<DeviceTensor> key_caches_;
    std::vector<DeviceTensor> value_caches_;
    DeviceTensor context_length_;
    Phase prefill_;
    Phase decode_;
    uint64_t request_ = 0;
    int64_t step_in_request_ = 0;
    int64_t position_ = 0;  // tokens of the request so far
    int64_t last_token_ = 0;
};

}  // namespace atbprobe::standin
