#include "csv_row.h"

#include <algorithm>

#include "csv_text.h"

namespace atbprobe {

void CsvRow::add(std::string_view field) {
    if (!line_.empty()) line_ += ',';
    append_csv_field(&line_, field);
}

void CsvRow::add_address(const TensorPath& path) {
    const OperationNames operation = operation_names(path.operations);
    add(path.process);
    add(path.count);
    add(operation.names);
    add(operation.type);
    add(operation.ids);
    add(path.kind == PathKind::kInput ? "input" : "output");
    add(tensor_index(path));
}

std::string CsvRow::take() {
    line_ += '\n';
    return std::move(line_);
}

std::string shape_text(std::string_view dims) {
    std::string shape(dims);
    std::replace(shape.begin(), shape.end(), ',', 'x');
    return shape;
}

}  // namespace atbprobe
