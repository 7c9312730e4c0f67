#include "content_key.h"

#include <boost/hash2/xxhash.hpp>

namespace atbprobe {

ContentKey content_key(const TensorCall& call) {
    boost::hash2::xxhash_64 type;
    type.update(call.dtype.data(), call.dtype.size());
    type.update("\n", 1);
    type.update(call.dims.data(), call.dims.size());
    boost::hash2::xxhash_64 hash(type.result());
    hash.update(call.data, call.bytes);
    return {hash.result(), call.bytes};
}

}  // namespace atbprobe
