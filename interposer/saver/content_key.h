// What two tensors with the same dtype, shape and bytes have in common. Equal keys are a hint only: before one tensor
// stands for another, their bytes are compared.
#pragma once

#include <cstdint>
#include <tuple>

#include "saver.h"

namespace atbprobe {

struct ContentKey {
    uint64_t hash;
    uint64_t bytes;

    bool operator==(const ContentKey& other) const { return hash == other.hash && bytes == other.bytes; }
    bool operator<(const ContentKey& other) const { return std::tie(hash, bytes) < std::tie(other.hash, other.bytes); }
};

ContentKey content_key(const TensorCall& call);

}  // namespace atbprobe
