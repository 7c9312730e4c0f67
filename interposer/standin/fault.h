// A numeric fault put into the output of one operation, to have something to find.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor.h"

namespace atbprobe::standin {

struct Fault {
    enum class Kind { kNan, kInfinity, kScale };

    std::string target;  // id path ("2_1"), name, or path ("2_Prefill_layer/1_Attention") of operations or kernels
    Kind kind = Kind::kNan;
    float scale = 1.0F;
    uint64_t first_round = 0;

    // "OP[:nan|inf|scale=FACTOR][@ROUND]"; empty if the text is not of this form.
    static std::optional<Fault> parse(const std::string& text);

    bool hits(const std::string& ids, const std::string& path, uint64_t round) const;
    void apply(TensorList& outputs) const;
};

}  // namespace atbprobe::standin
