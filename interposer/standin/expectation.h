// Ground truth for tests: what the operations read and wrote, put down by the stand-in itself, whatever the
// probe says. A file that a probe would be asked to save under PATH lies at <root>/PATH.raw, just the bytes;
// <root>/tensors.jsonl has one line a tensor with its round, shape and path. Only inputs before and outputs
// after a run are put down.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "tensor.h"

namespace atbprobe::standin {

class Expectation {
  public:
    // Creates the root folder if need be; throws std::runtime_error if it cannot be written.
    explicit Expectation(const std::string& root);
    ~Expectation();
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

    void put_tensor(uint64_t round, const Tensor& tensor, const std::string& path);
    void put_param(const std::string& json, const std::string& path);

  private:
    void write(const std::string& path, const void* data, size_t bytes);

    std::string root_;
    std::mutex mutex_;
    std::FILE* index_;
};

}  // namespace atbprobe::standin
