#include "statistic_row.h"

#include <algorithm>

#include "csv_text.h"
#include "tensor_type.h"

namespace atbprobe {
namespace {

constexpr std::string_view kNothing = "N/A";

std::string shape_text(std::string_view dims) {
    std::string shape(dims);
    std::replace(shape.begin(), shape.end(), ',', 'x');
    return shape;
}

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
    const OperationNames operation = operation_names(path.operations);
    std::string row;
    const auto add = [&row](std::string_view field) {
        if (!row.empty()) row += ',';
        append_csv_field(&row, field);
    };
    add(path.process);
    add(path.count);
    add(operation.names);
    add(operation.type);
    add(operation.ids);
    add(path.kind == PathKind::kInput ? "input" : "output");
    add(tensor_index(path));
    add(data_type_name(call.dtype));
    add(format_name(call.format));
    add(shape_text(call.dims));
    if (statistics.known) {
        add(extreme_text(statistics, statistics.max, statistics.max_imaginary));
        add(extreme_text(statistics, statistics.min, statistics.min_imaginary));
        add(value_text(statistics, statistics.mean, statistics.mean_imaginary));
        add(number_text(statistics.norm));
    } else {
        for (int column = 0; column < 4; ++column) add(kNothing);
    }
    add(stored_at.empty() ? kNothing : stored_at);
    row += '\n';
    return row;
}

}  // namespace atbprobe
