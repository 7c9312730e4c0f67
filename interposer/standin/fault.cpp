#include "fault.h"

#include <cstdlib>
#include <limits>

namespace atbprobe::standin {

namespace {

// The name in the last component, "Attention" of "2_Prefill_layer/1_Attention".
std::string last_name(const std::string& path) {
    const size_t slash = path.rfind('/');
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    return path.substr(path.find('_', begin) + 1);
}

}  // namespace

std::optional<Fault> Fault::parse(const std::string& text) {
    Fault fault;
    std::string rest = text;
    const size_t at = rest.rfind('@');
    if (at != std::string::npos) {
        const std::string round = rest.substr(at + 1);
        if (round.empty() || round.find_first_not_of("0123456789") != std::string::npos) {
            return std::nullopt;
        }
        fault.first_round = std::strtoull(round.c_str(), nullptr, 10);
        rest.resize(at);
    }
    const size_t colon = rest.rfind(':');
    const std::string kind = colon == std::string::npos ? "nan" : rest.substr(colon + 1);
    const std::string scale_prefix = "scale=";
    if (kind == "nan") {
        fault.kind = Kind::kNan;
    } else if (kind == "inf") {
        fault.kind = Kind::kInfinity;
    } else if (kind.compare(0, scale_prefix.size(), scale_prefix) == 0) {
        char* end = nullptr;
        fault.kind = Kind::kScale;
        fault.scale = std::strtof(kind.c_str() + scale_prefix.size(), &end);
        if (end == kind.c_str() + scale_prefix.size() || *end != '\0') {
            return std::nullopt;
        }
    } else {
        return std::nullopt;
    }
    fault.target = rest.substr(0, colon);
    if (fault.target.empty()) {
        return std::nullopt;
    }
    return fault;
}

bool Fault::hits(const std::string& ids, const std::string& path, uint64_t round) const {
    return round >= first_round && (target == ids || target == path || target == last_name(path));
}

void Fault::apply(TensorList& outputs) const {
    for (Tensor& output : outputs) {
        switch (kind) {
            case Kind::kNan:
                set_float(output, 0, std::numeric_limits<float>::quiet_NaN());
                break;
            case Kind::kInfinity:
                set_float(output, 0, std::numeric_limits<float>::infinity());
                break;
            case Kind::kScale:
                for (size_t i = 0; i < output.shape.elements(); ++i) {
                    set_float(output, i, scale * float_at(output, i));
                }
                break;
        }
    }
}

}  // namespace atbprobe::standin
