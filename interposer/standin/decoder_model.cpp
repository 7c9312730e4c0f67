#include "decoder_model.h"

#include <utility>

#include "decoder_layer.h"
#include "probe.h"

namespace atbprobe::standin {

namespace {

constexpr uint64_t kPromptStream = uint64_t{1} << 32U;

// Greedy: the largest logit of the last row; a NaN is never the largest.
int64_t best_token(const Tensor& logits) {
    const auto columns = static_cast<size_t>(logits.columns());
    const size_t row = logits.shape.elements() - columns;
    size_t best = 0;
    for (size_t i = 1; i < columns; ++i) {
        if (float_at(logits, row + i) > float_at(logits, row + best)) {
            best = i;
        }
    }
    return static_cast<int64_t>(best);
}

std::string topology_node(const std::string& name, const std::vector<std::string>& inputs, const std::string& output) {
    std::string quoted;
    for (const std::string& input : inputs) {
        quoted += (quoted.empty() ? "\"" : ",\"") + input + "\"";
    }
    return R"({"opName":")" + name + R"(","inTensors":[)" + quoted + R"(],"outTensors":[")" + output + R"("]})";
}

// The names of layer_inputs.
std::vector<std::string> layer_input_names(size_t layer, bool cached) {
    const std::string prefix = "layer_" + std::to_string(layer) + ".";
    std::vector<std::string> names{"hidden_" + std::to_string(layer)};
    for (const char* weight :
         {"attention_norm", "query", "key", "value", "attention_out", "mlp_norm", "gate_up", "down"}) {
        names.push_back(prefix + weight);
    }
    if (cached) {
        names.push_back(prefix + "key_cache");
        names.push_back(prefix + "value_cache");
        names.push_back("context_length");
    }
    return names;
}

}  // namespace

DecoderModel::DecoderModel(const ModelOptions& options, Context& context, Executor executor)
    : options_(options),
      context_(context),
      executor_(std::move(executor)),
      weights_(options),
      context_length_({DataType::kInt32, {1}}),
      prefill_(options, "StandinDecoderModel_prefill", "Prefill_layer", options.prompt_tokens),
      decode_(options, "StandinDecoderModel_decode", "Decoder_layer", 1) {
    const int64_t capacity = options.prompt_tokens + options.request_length;
    for (const LayerWeights& layer : weights_.layers) {
        const TensorShape shape{layer.key.view().shape.dtype, {capacity, options.hidden}};
        key_caches_.emplace_back(shape);
        value_caches_.emplace_back(shape);
    }
}

DecoderModel::Phase::Phase(const ModelOptions& options, std::string name, const std::string& layer_name, int64_t tokens)
    : model_name(std::move(name)),
      embedding(make_word_embedding(options)),
      final_norm(make_final_norm(options)),
      lm_head(make_lm_head(options)),
      token_ids({options.token_ids, {tokens}}),
      hidden{DeviceTensor({options.dtype, {tokens, options.hidden}}),
             DeviceTensor({options.dtype, {tokens, options.hidden}})},
      logits({options.logits, {tokens, options.vocabulary}}) {
    for (int64_t i = 0; i < options.layers; ++i) {
        layers.push_back(std::make_unique<LayerOperation>(make_layer(options, layer_name, i, !options.always_prefill)));
    }
}

int64_t DecoderModel::step() {
    const bool is_prefill = options_.always_prefill || step_in_request_ == 0;
    const std::vector<int64_t> tokens = is_prefill ? prompt() : std::vector<int64_t>{last_token_};
    position_ = is_prefill ? options_.prompt_tokens : position_ + 1;
    last_token_ = run(is_prefill ? prefill_ : decode_, tokens);
    if (!options_.always_prefill && ++step_in_request_ == options_.request_length) {
        step_in_request_ = 0;
        ++request_;
    }
    return last_token_;
}

std::vector<int64_t> DecoderModel::prompt() const {
    std::vector<int64_t> tokens;
    for (int64_t i = 0; i < options_.prompt_tokens; ++i) {
        const uint64_t bits = random_bits(options_.seed, kPromptStream + request_, static_cast<uint64_t>(i));
        tokens.push_back(static_cast<int64_t>(bits % static_cast<uint64_t>(options_.vocabulary)));
    }
    return tokens;
}

TensorList DecoderModel::layer_inputs(size_t layer, const Tensor& hidden) {
    LayerWeights& w = weights_.layers[layer];
    TensorList inputs{hidden,         w.attention_norm.view(), w.query.view(),    w.key.view(),
                      w.value.view(), w.attention_out.view(),  w.mlp_norm.view(), w.gate_up.view(),
                      w.down.view()};
    if (!options_.always_prefill) {
        inputs.push_back(key_caches_[layer].view());
        inputs.push_back(value_caches_[layer].view());
        inputs.push_back(context_length_.view());
    }
    return inputs;
}

int64_t DecoderModel::run(Phase& phase, const std::vector<int64_t>& tokens) {
    report_topology(phase);
    for (size_t i = 0; i < tokens.size(); ++i) {
        set_integer(phase.token_ids.view(), i, tokens[i]);
    }
    set_integer(context_length_.view(), 0, position_);

    size_t current = 0;
    run(phase.embedding, {weights_.embedding.view(), phase.token_ids.view()}, {phase.hidden[current].view()});
    for (size_t i = 0; i < phase.layers.size(); ++i) {
        run(*phase.layers[i], layer_inputs(i, phase.hidden[current].view()), {phase.hidden[1 - current].view()});
        current = 1 - current;
    }
    run(phase.final_norm, {phase.hidden[current].view(), weights_.final_norm.view()},
        {phase.hidden[1 - current].view()});
    run(phase.lm_head, {phase.hidden[1 - current].view(), weights_.lm_head.view()}, {phase.logits.view()});
    context_.synchronise_stream();
    return best_token(phase.logits.view());
}

void DecoderModel::run(LayerOperation& operation, const TensorList& inputs, const TensorList& outputs) {
    for (int64_t i = 0; i < options_.setups_per_execute; ++i) {
        operation.setup(context_, inputs, outputs);
    }
    executor_([&] {
        for (int64_t i = 0; i < options_.executes_per_setup; ++i) {
            operation.execute(context_);
        }
    });
}

void DecoderModel::report_topology(Phase& phase) const {
    if (phase.reported) {
        return;
    }
    phase.reported = true;
    if (!atb_speed::SpeedProbe::IsReportModelTopoInfo(phase.model_name)) {
        return;
    }
    std::string nodes = topology_node("WordEmbedding", {"embedding", "token_ids"}, "hidden_0");
    for (size_t i = 0; i < phase.layers.size(); ++i) {
        nodes += "," + topology_node(phase.layers[i]->operation().name, layer_input_names(i, !options_.always_prefill),
                                     "hidden_" + std::to_string(i + 1));
    }
    nodes += "," + topology_node(phase.final_norm.operation().name,
                                 {"hidden_" + std::to_string(phase.layers.size()), "final_norm"}, "normed");
    nodes += "," + topology_node("LmHead", {"normed", "lm_head"}, "logits");
    atb_speed::SpeedProbe::ReportModelTopoInfo(
        phase.model_name, R"({"modelName":")" + phase.model_name + R"(","nodes":[)" + nodes + "]}");
}

}  // namespace atbprobe::standin
