#include "transformer_operations.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace atbprobe::standin {

namespace {

constexpr float kEpsilon = 1e-5F;

// What an operation is called, in the two styles, and what it is.
struct Definition {
    const char* builtin_name;
    const char* plugin_name;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::string param_json;
    std::function<ShapeList(const ShapeList&)> infer_shapes;
    std::function<void(const TensorList&, TensorList&)> compute;
    std::function<std::string(const ShapeList&, const ShapeList&)> kernel_name;
};

OperationPtr make(const OperationStyle& style, Definition definition) {
    auto operation = std::make_shared<Operation>();
    operation->kind = style.plugins ? OperationKind::kPlugin : OperationKind::kBuiltin;
    operation->name = style.plugins ? definition.plugin_name : definition.builtin_name;
    operation->input_count = definition.inputs.size();
    operation->output_count = definition.outputs.size();
    operation->infer_shapes = std::move(definition.infer_shapes);
    operation->compute = std::move(definition.compute);
    if (!style.plugins) {
        operation->param_json = std::move(definition.param_json);
        operation->kernel_name = std::move(definition.kernel_name);
        if (style.parameter_names) {
            operation->input_names = std::move(definition.inputs);
            operation->output_names = std::move(definition.outputs);
        }
    }
    return operation;
}

ShapeList same_shape(const ShapeList& inputs) { return {inputs[0]}; }

void gather(const TensorList& inputs, TensorList& outputs) {
    const Tensor& table = inputs[0];
    const size_t row_bytes = static_cast<size_t>(table.columns()) * element_bytes(table.shape.dtype);
    for (size_t i = 0; i < inputs[1].shape.elements(); ++i) {
        const auto row = static_cast<size_t>(integer_at(inputs[1], i));
        std::copy_n(table.data + row * row_bytes, row_bytes, outputs[0].data + i * row_bytes);
    }
}

void rms_norm(const TensorList& inputs, TensorList& outputs) {
    std::vector<float> x = to_floats(inputs[0]);
    const std::vector<float> weight = to_floats(inputs[1]);
    const size_t columns = weight.size();
    for (size_t begin = 0; begin < x.size(); begin += columns) {
        float squares = 0.0F;
        for (size_t i = 0; i < columns; ++i) {
            squares += x[begin + i] * x[begin + i];
        }
        const float scale = 1.0F / std::sqrt(squares / static_cast<float>(columns) + kEpsilon);
        for (size_t i = 0; i < columns; ++i) {
            x[begin + i] *= scale * weight[i];
        }
    }
    from_floats(outputs[0], x);
}

void linear(const TensorList& inputs, TensorList& outputs) {
    const std::vector<float> x = to_floats(inputs[0]);
    const std::vector<float> weight = to_floats(inputs[1]);
    const auto in = static_cast<size_t>(inputs[1].columns());
    const auto out = static_cast<size_t>(inputs[1].rows());
    std::vector<float> y(outputs[0].shape.elements());
    for (size_t i = 0; i < y.size(); ++i) {
        const float* row = &x[i / out * in];
        const float* column = &weight[i % out * in];
        float sum = 0.0F;
        for (size_t k = 0; k < in; ++k) {
            sum += row[k] * column[k];
        }
        y[i] = sum;
    }
    from_floats(outputs[0], y);
}

void add(const TensorList& inputs, TensorList& outputs) {
    for (size_t i = 0; i < outputs[0].shape.elements(); ++i) {
        set_float(outputs[0], i, float_at(inputs[0], i) + float_at(inputs[1], i));
    }
}

void cast(const TensorList& inputs, TensorList& outputs) { from_floats(outputs[0], to_floats(inputs[0])); }

void swiglu(const TensorList& inputs, TensorList& outputs) {
    const auto half = static_cast<size_t>(outputs[0].columns());
    for (size_t i = 0; i < outputs[0].shape.elements(); ++i) {
        const size_t gate = i / half * 2 * half + i % half;
        const float x = float_at(inputs[0], gate);
        set_float(outputs[0], i, x / (1.0F + std::exp(-x)) * float_at(inputs[0], gate + half));
    }
}

// Softmax attention of one query row to the given key and value rows, head by head.
void attend(const float* query, const std::vector<const float*>& keys, const std::vector<const float*>& values,
            size_t hidden, size_t heads, float* result) {
    const size_t width = hidden / heads;
    std::vector<float> weights(keys.size());
    for (size_t begin = 0; begin < hidden; begin += width) {
        float largest = -INFINITY;
        for (size_t row = 0; row < keys.size(); ++row) {
            float dot = 0.0F;
            for (size_t i = begin; i < begin + width; ++i) {
                dot += query[i] * keys[row][i];
            }
            weights[row] = dot / std::sqrt(static_cast<float>(width));
            largest = std::max(largest, weights[row]);
        }
        float total = 0.0F;
        for (float& weight : weights) {
            weight = std::exp(weight - largest);
            total += weight;
        }
        for (size_t i = begin; i < begin + width; ++i) {
            float sum = 0.0F;
            for (size_t row = 0; row < values.size(); ++row) {
                sum += weights[row] * values[row][i];
            }
            result[i] = sum / total;
        }
    }
}

// Keys and values of position p are in row p modulo `capacity`; query i stands at position `start` + i.
void causal_attention(const Tensor& q, const Tensor& keys, const Tensor& values, size_t start, size_t heads,
                      Tensor& output) {
    const auto hidden = static_cast<size_t>(q.columns());
    const auto capacity = static_cast<size_t>(keys.rows());
    const std::vector<float> query = to_floats(q);
    const std::vector<float> key = to_floats(keys);
    const std::vector<float> value = to_floats(values);
    std::vector<float> result(query.size());
    for (size_t i = 0; i < query.size() / hidden; ++i) {
        const size_t end = start + i + 1;
        std::vector<const float*> key_rows;
        std::vector<const float*> value_rows;
        for (size_t p = end > capacity ? end - capacity : 0; p < end; ++p) {
            key_rows.push_back(&key[p % capacity * hidden]);
            value_rows.push_back(&value[p % capacity * hidden]);
        }
        attend(&query[i * hidden], key_rows, value_rows, hidden, heads, &result[i * hidden]);
    }
    from_floats(output, result);
}

void append_rows(const Tensor& rows, size_t start, const Tensor& cache) {
    const size_t row_bytes = static_cast<size_t>(rows.columns()) * element_bytes(rows.shape.dtype);
    const auto capacity = static_cast<size_t>(cache.rows());
    for (size_t i = 0; i < static_cast<size_t>(rows.rows()); ++i) {
        std::copy_n(rows.data + i * row_bytes, row_bytes, cache.data + (start + i) % capacity * row_bytes);
    }
}

OperationPtr make_attention(const OperationStyle& style, std::vector<std::string> inputs,
                            std::function<void(const TensorList&, TensorList&)> compute) {
    OperationStyle plugin = style;
    plugin.plugins = true;
    return make(plugin, {nullptr,
                         style.attention_name.c_str(),
                         std::move(inputs),
                         {"output"},
                         "",
                         same_shape,
                         std::move(compute),
                         nullptr});
}

std::string linear_json(int out_data_type) {
    return R"({"enAccum":false,"hasBias":false,"matmulType":0,"outDataType":)" + std::to_string(out_data_type) +
           R"(,"quantMode":0,"transposeA":false,"transposeB":true})";
}

std::string elewise_json(int elewise_type, int out_tensor_type) {
    return R"({"elewiseType":)" + std::to_string(elewise_type) + R"(,"mulsParam":{"varAttr":0.0},"outTensorType":)" +
           std::to_string(out_tensor_type) + R"(,"quantParam":{"asymmetric":false,"inputOffset":0,"inputScale":1.0}})";
}

constexpr int kElewiseCast = 1;
constexpr int kElewiseAdd = 8;
constexpr int kLikeInput = -1;

}  // namespace

OperationPtr make_gather(const OperationStyle& style) {
    return make(style, {"GatherOperation",
                        "WordEmbedding",
                        {"x", "indices"},
                        {"output"},
                        R"({"axis":0,"batchDims":0})",
                        [](const ShapeList& in) { return ShapeList{{in[0].dtype, {in[1].dims[0], in[0].dims[1]}}}; },
                        gather,
                        [](const ShapeList& in, const ShapeList&) {
                            return "Gather" + std::to_string(8 * element_bytes(in[0].dtype)) +
                                   kernel_suffix(in[1].dtype) + "Kernel";
                        }});
}

OperationPtr make_rms_norm(const OperationStyle& style) {
    const std::string epsilon = "9.999999747378752e-06";  // 1e-5 as a float
    const std::string json = R"({"layerType":1,"normParam":{"dynamicQuantType":0,"epsilon":)" + epsilon +
                             R"(,"layerNormEps":1e-05,"modelType":0,"precisionMode":0,"quantType":0,"rstd":false},)" +
                             R"("postNormParam":{"epsilon":)" + epsilon + R"(,"hasBias":false,"quantType":0},)" +
                             R"("preNormParam":{"epsilon":)" + epsilon + R"(,"hasBias":false,"quantType":0}})";
    return make(style, {"RmsNormOperation",
                        "RmsNorm",
                        {"x1", "x2"},
                        {"output"},
                        json,
                        same_shape,
                        rms_norm,
                        [](const ShapeList&, const ShapeList&) { return std::string("RmsNormKernel"); }});
}

OperationPtr make_linear(const OperationStyle& style) {
    return make(style, {"LinearOperation",
                        "Linear",
                        {"input", "weight"},
                        {"output"},
                        linear_json(kLikeInput),
                        [](const ShapeList& in) { return ShapeList{{in[0].dtype, {in[0].dims[0], in[1].dims[0]}}}; },
                        linear,
                        [](const ShapeList& in, const ShapeList&) {
                            return std::string("PpMatMul") + kernel_suffix(in[0].dtype) + "Kernel";
                        }});
}

OperationPtr make_linear(const OperationStyle& style, DataType output) {
    return make(style, {"LinearOperation",
                        "Linear",
                        {"input", "weight"},
                        {"output"},
                        linear_json(static_cast<int>(output)),
                        [output](const ShapeList& in) { return ShapeList{{output, {in[0].dims[0], in[1].dims[0]}}}; },
                        linear,
                        [](const ShapeList& in, const ShapeList& out) {
                            return std::string("PpMatMul") + kernel_suffix(in[0].dtype) + "Out" +
                                   kernel_suffix(out[0].dtype) + "Kernel";
                        }});
}

OperationPtr make_add(const OperationStyle& style) {
    return make(style, {"ElewiseOperation",
                        "Add",
                        {"x", "y"},
                        {"output"},
                        elewise_json(kElewiseAdd, kLikeInput),
                        same_shape,
                        add,
                        [](const ShapeList& in, const ShapeList&) {
                            return std::string("Add") + kernel_suffix(in[0].dtype) + "Kernel";
                        }});
}

OperationPtr make_cast(const OperationStyle& style, DataType output) {
    return make(style, {"ElewiseOperation",
                        "Cast",
                        {"x"},
                        {"output"},
                        elewise_json(kElewiseCast, static_cast<int>(output)),
                        [output](const ShapeList& in) { return ShapeList{{output, in[0].dims}}; },
                        cast,
                        [](const ShapeList& in, const ShapeList& out) {
                            return std::string("Cast") + kernel_suffix(in[0].dtype) + kernel_suffix(out[0].dtype) +
                                   "Kernel";
                        }});
}

OperationPtr make_swiglu(const OperationStyle& style) {
    return make(style,
                {"ActivationOperation",
                 "SwiGlu",
                 {"x"},
                 {"y"},
                 R"({"activationType":6,"dim":-1,"scale":1.0})",
                 [](const ShapeList& in) { return ShapeList{{in[0].dtype, {in[0].dims[0], in[0].dims[1] / 2}}}; },
                 swiglu,
                 [](const ShapeList&, const ShapeList&) { return std::string("SwiGluForwardKernel"); }});
}

OperationPtr make_self_attention(const OperationStyle& style, int64_t heads) {
    return make_attention(style, {"q", "k", "v"}, [heads](const TensorList& in, TensorList& out) {
        causal_attention(in[0], in[1], in[2], 0, static_cast<size_t>(heads), out[0]);
    });
}

OperationPtr make_cached_attention(const OperationStyle& style, int64_t heads) {
    return make_attention(style, {"q", "k", "v", "k_cache", "v_cache", "context_length"},
                          [heads](const TensorList& in, TensorList& out) {
                              const auto start = static_cast<size_t>(integer_at(in[5], 0) - in[0].rows());
                              append_rows(in[1], start, in[3]);
                              append_rows(in[2], start, in[4]);
                              causal_attention(in[0], in[3], in[4], start, static_cast<size_t>(heads), out[0]);
                          });
}

}  // namespace atbprobe::standin
