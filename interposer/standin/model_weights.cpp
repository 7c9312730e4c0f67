#include "model_weights.h"

#include <cmath>
#include <utility>

namespace atbprobe::standin {

namespace {

// splitmix64's finaliser: every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

// Uniform in [-1, 1).
float random_float(uint64_t seed, uint64_t stream, uint64_t index) {
    return static_cast<float>(random_bits(seed, stream, index) >> 40U) * 0x1p-23F - 1.0F;
}

class WeightSource {
  public:
    explicit WeightSource(uint64_t seed) : seed_(seed) {}

    // Keeps the size of activations: the deviation of the result is 1 / sqrt(in).
    DeviceTensor matrix(DataType dtype, int64_t out, int64_t in) {
        return filled({dtype, {out, in}}, 0.0F, std::sqrt(3.0F / static_cast<float>(in)));
    }
    DeviceTensor norm(DataType dtype, int64_t size) { return filled({dtype, {size}}, 1.0F, 0.1F); }

  private:
    DeviceTensor filled(TensorShape shape, float middle, float spread) {
        DeviceTensor tensor(std::move(shape));
        for (size_t i = 0; i < tensor.view().shape.elements(); ++i) {
            set_float(tensor.view(), i, middle + spread * random_float(seed_, stream_, i));
        }
        ++stream_;
        return tensor;
    }

    uint64_t seed_;
    uint64_t stream_ = 1;
};

}  // namespace

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index) { return mix(mix(mix(seed) + stream) + index); }

DeviceTensor::DeviceTensor(TensorShape shape) : memory_(shape.bytes()), view_{std::move(shape), memory_.data()} {}

ModelWeights::ModelWeights(const ModelOptions& options) {
    WeightSource source(options.seed);
    const int64_t hidden = options.hidden;
    embedding = source.matrix(options.dtype, options.vocabulary, hidden);
    for (int64_t i = 0; i < options.layers; ++i) {
        const DataType dtype = options.bfloat16_layer == i ? DataType::kBfloat16 : options.dtype;
        LayerWeights layer;
        layer.attention_norm = source.norm(dtype, hidden);
        layer.query = source.matrix(dtype, hidden, hidden);
        layer.key = source.matrix(dtype, hidden, hidden);
        layer.value = source.matrix(dtype, hidden, hidden);
        layer.attention_out = source.matrix(dtype, hidden, hidden);
        layer.mlp_norm = source.norm(dtype, hidden);
        layer.gate_up = source.matrix(dtype, 2 * options.feed_forward, hidden);
        layer.down = source.matrix(dtype, hidden, options.feed_forward);
        layers.push_back(std::move(layer));
    }
    final_norm = source.norm(options.dtype, hidden);
    lm_head = source.matrix(options.dtype, options.vocabulary, hidden);
}

}  // namespace atbprobe::standin
