// The graph operations of the transformer.
#pragma once

#include <string>

#include "operation.h"
#include "options.h"

namespace atbprobe::standin {

// `name` is Prefill_layer or Decoder_layer. Inputs: x and the eight weights in the order of LayerWeights;
// with a cache also k_cache, v_cache, context_length.
OperationPtr make_layer(const ModelOptions& options, const std::string& name, int64_t layer, bool cached);
OperationPtr make_word_embedding(const ModelOptions& options);
// A single operation if it is a built-in one, as the real library has it; a graph of one plug-in otherwise.
OperationPtr make_final_norm(const ModelOptions& options);
OperationPtr make_lm_head(const ModelOptions& options);

}  // namespace atbprobe::standin
