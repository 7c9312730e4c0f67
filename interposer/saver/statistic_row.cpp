#include "statistic_row.h"

#include "csv_row.h"
#include "csv_text.h"
#include "tensor_type.h"

namespace atbprobe {
namespace {

// A NaN anywhere leaves nothing to say of parts.
std::string value_text(const Statistics& statistics, double value, double imaginary) {
    if (!statistics.is_complex) return number_text(value);
    return "(" + number_text(value) + "," + number_text(imaginary) + ")";
}

std::string extreme_text(const Statistics& statistics, double value, double imaginary) {
    return statistics.single_precision ? number_text(static_cast<float>(value))
                                       : value_text(statistics, value, imaginary);
}

}  // namespace

std::string statistic_row(const TensorCall& call, const TensorPath& path, const Statistics& statistics,
                          std::string_view stored_at) {
    CsvRow row;
    row.add_address(path);
    row.add(data_type_name(call.dtype));
    row.add(format_name(call.format));
    row.add(shape_text(call.dims));
    if (statistics.known) {
        row.add(extreme_text(statistics, statistics.max, statistics.max_imaginary));
        row.add(extreme_text(statistics, statistics.min, statistics.min_imaginary));
        row.add(value_text(statistics, statistics.mean, statistics.mean_imaginary));
        row.add(number_text(statistics.norm));
    } else {
        for (int column = 0; column < 4; ++column) row.add(kNotAvailable);
    }
    row.add(stored_at.empty() ? kNotAvailable : stored_at);
    return row.take();
}

}  // namespace atbprobe
