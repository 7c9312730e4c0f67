#include "decoder_layer.h"

#include <vector>

#include "transformer_operations.h"

namespace atbprobe::standin {

namespace {

using Names = std::vector<std::string>;

Names joined(Names names, const Names& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
}

Names cache_names(bool cached) { return cached ? Names{"k_cache", "v_cache", "context_length"} : Names{}; }

OperationPtr make_fusion_attention(const ModelOptions& options, bool cached) {
    const Names inputs = joined({"q", "k", "v"}, cache_names(cached));
    const OperationPtr attention = cached ? make_cached_attention(options.style, options.heads)
                                          : make_self_attention(options.style, options.heads);
    return GraphBuilder("FusionAttention", inputs, {"out"}).add(attention, inputs, {"out"}).build();
}

OperationPtr make_attention_block(const ModelOptions& options, bool cached) {
    const OperationPtr linear = make_linear(options.style);
    const Names cache = cache_names(cached);
    return GraphBuilder("Attention", joined({"x", "w_q", "w_k", "w_v", "w_out"}, cache), {"y"})
        .add(linear, {"x", "w_q"}, {"q"})
        .add(linear, {"x", "w_k"}, {"k"})
        .add(linear, {"x", "w_v"}, {"v"})
        .add(make_fusion_attention(options, cached), joined({"q", "k", "v"}, cache), {"attended"})
        .add(linear, {"attended", "w_out"}, {"y"})
        .build();
}

OperationPtr make_mlp(const ModelOptions& options) {
    const OperationPtr linear = make_linear(options.style);
    return GraphBuilder("Mlp", {"x", "w_gate_up", "w_down"}, {"y"})
        .add(linear, {"x", "w_gate_up"}, {"gate_up"})
        .add(make_swiglu(options.style), {"gate_up"}, {"activated"})
        .add(linear, {"activated", "w_down"}, {"y"})
        .build();
}

OperationPtr single_node_graph(const std::string& name, const OperationPtr& operation) {
    Names inputs;
    for (size_t i = 0; i < operation->input_count; ++i) {
        inputs.push_back("in" + std::to_string(i));
    }
    return GraphBuilder(name, inputs, {"out"}).add(operation, inputs, {"out"}).build();
}

}  // namespace

OperationPtr make_layer(const ModelOptions& options, const std::string& name, int64_t layer, bool cached) {
    const bool casts = options.bfloat16_layer == layer && options.dtype != DataType::kBfloat16;
    const std::string x = casts ? "x_bf16" : "x";
    const std::string y = casts ? "y_bf16" : "y";
    const Names cache = cache_names(cached);
    const OperationPtr norm = make_rms_norm(options.style);
    const OperationPtr add = make_add(options.style);

    GraphBuilder graph(
        name, joined({"x", "norm_1", "w_q", "w_k", "w_v", "w_out", "norm_2", "w_gate_up", "w_down"}, cache), {"y"});
    if (casts) {
        graph.add(make_cast(options.style, DataType::kBfloat16), {"x"}, {x});
    }
    graph.add(norm, {x, "norm_1"}, {"normed_1"})
        .add(make_attention_block(options, cached), joined({"normed_1", "w_q", "w_k", "w_v", "w_out"}, cache),
             {"attention"})
        .add(add, {x, "attention"}, {"middle"})
        .add(norm, {"middle", "norm_2"}, {"normed_2"})
        .add(make_mlp(options), {"normed_2", "w_gate_up", "w_down"}, {"mlp"})
        .add(add, {"middle", "mlp"}, {y});
    if (casts) {
        graph.add(make_cast(options.style, options.dtype), {y}, {"y"});
    }
    return graph.build();
}

OperationPtr make_word_embedding(const ModelOptions& options) {
    return single_node_graph("WordEmbedding", make_gather(options.style));
}

OperationPtr make_final_norm(const ModelOptions& options) {
    const OperationPtr norm = make_rms_norm(options.style);
    return options.style.plugins ? single_node_graph("FinalNorm", norm) : norm;
}

OperationPtr make_lm_head(const ModelOptions& options) {
    const bool same = options.logits == options.dtype;
    return single_node_graph("LmHead", same ? make_linear(options.style) : make_linear(options.style, options.logits));
}

}  // namespace atbprobe::standin
