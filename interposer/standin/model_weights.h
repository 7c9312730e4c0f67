// Memory of the model on the "device", and its weights: pseudo-random numbers that depend on the seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "options.h"
#include "tensor.h"

namespace atbprobe::standin {

// A tensor with its memory, zero at first.
class DeviceTensor {
  public:
    DeviceTensor() = default;
    explicit DeviceTensor(TensorShape shape);
    DeviceTensor(DeviceTensor&&) = default;
    DeviceTensor& operator=(DeviceTensor&&) = default;
    const Tensor& view() const { return view_; }
    Tensor& view() { return view_; }

  private:
    std::vector<std::byte> memory_;
    Tensor view_;
};

struct LayerWeights {
    DeviceTensor attention_norm;
    DeviceTensor query;
    DeviceTensor key;
    DeviceTensor value;
    DeviceTensor attention_out;
    DeviceTensor mlp_norm;
    DeviceTensor gate_up;
    DeviceTensor down;
};

struct ModelWeights {
    explicit ModelWeights(const ModelOptions& options);

    DeviceTensor embedding;
    std::vector<LayerWeights> layers;
    DeviceTensor final_norm;
    DeviceTensor lm_head;
};

// The `index`-th number of the stream `stream` of a seed, uniform over all 64-bit values.
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index);

}  // namespace atbprobe::standin
