#include "anomaly_row.h"

#include <charconv>
#include <optional>
#include <vector>

#include "csv_row.h"
#include "narrow_types.h"

namespace atbprobe {
namespace {

// `2,17` for position 49 of a tensor of shape `3,16`, nothing for a scalar; what cannot be told is N/A.
std::string index_text(std::string_view dims, uint64_t position) {
    const std::optional<uint64_t> elements = element_count(dims);
    if (!elements || position >= *elements) return std::string(kNotAvailable);
    std::vector<uint64_t> sizes;
    const char* const end = dims.data() + dims.size();
    for (const char* at = dims.data(); at != end; ++at) {  // over the comma
        uint64_t size = 0;
        at = std::from_chars(at, end, size).ptr;
        sizes.push_back(size);
        if (at == end) break;
    }
    std::string index;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
        index.insert(0, std::to_string(position % *size) + (index.empty() ? "" : ","));
        position /= *size;
    }
    return index;
}

}  // namespace

std::string anomaly_row(const TensorCall& call, const TensorPath& path, const Anomalies& anomalies,
                        std::string_view stored_at) {
    CsvRow row;
    row.add_address(path);
    row.add(data_type_name(call.dtype));
    row.add(shape_text(call.dims));
    for (const uint64_t count : {anomalies.nan, anomalies.positive_infinity, anomalies.negative_infinity}) {
        row.add(std::to_string(count));
    }
    row.add(std::to_string(anomalies.first));
    row.add(index_text(call.dims, anomalies.first));
    row.add(stored_at.empty() ? kNotAvailable : stored_at);
    return row.take();
}

}  // namespace atbprobe
