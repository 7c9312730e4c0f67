// The operations of the small transformer, with real arithmetic: each reads its tensors as float, computes in
// float and rounds once, when it stores. Shapes: rows are tokens, weights are [out, in].
#pragma once

#include <string>

#include "operation.h"

namespace atbprobe::standin {

struct OperationStyle {
    bool plugins = false;         // plug-in operations throughout, in place of built-in ones with kernels
    bool parameter_names = true;  // file names carry the parameters' names
    std::string attention_name = "SelfAttention";  // always a plug-in; names of plug-ins can hold anything
};

// table [vocabulary, hidden], ids [tokens] -> [tokens, hidden]
OperationPtr make_gather(const OperationStyle& style);
// x [tokens, hidden], weight [hidden] -> [tokens, hidden]
OperationPtr make_rms_norm(const OperationStyle& style);
// x [tokens, in], weight [out, in] -> [tokens, out], of type `output` or of the input's type
OperationPtr make_linear(const OperationStyle& style);
OperationPtr make_linear(const OperationStyle& style, DataType output);
// x, y -> x + y
OperationPtr make_add(const OperationStyle& style);
// x -> x in another type
OperationPtr make_cast(const OperationStyle& style, DataType output);
// x [tokens, 2 n] -> [tokens, n]: silu of the first half times the second half
OperationPtr make_swiglu(const OperationStyle& style);
// q, k, v [tokens, hidden] -> [tokens, hidden]: causal, over these tokens alone
OperationPtr make_self_attention(const OperationStyle& style, int64_t heads);
// q, k, v and k_cache, v_cache [capacity, hidden], context_length [1]: appends k and v to the caches, in
// place, and attends to what they hold. Position p lies in row p modulo capacity, so attention slides over
// the last tokens.
OperationPtr make_cached_attention(const OperationStyle& style, int64_t heads);

}  // namespace atbprobe::standin
