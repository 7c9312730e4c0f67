#include "csv_text.h"

#include <charconv>
#include <cmath>

namespace atbprobe {
namespace {

// Longer than any shortest text of a double: 17 digits, sign, point and exponent.
constexpr size_t kMaxNumber = 32;

template <typename Value>
std::string shortest_text(Value value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    char text[kMaxNumber];
    const auto result = std::to_chars(text, text + sizeof text, value);
    return {text, result.ptr};
}

bool is_number(std::string_view field) {
    double value = 0;
    const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
    return result.ec == std::errc() && result.ptr == field.data() + field.size();
}

bool looks_like_formula(std::string_view field) {
    constexpr std::string_view kFormulaStarts = "=+-@\t\r";
    return !field.empty() && kFormulaStarts.find(field.front()) != std::string_view::npos && !is_number(field);
}

}  // namespace

std::string number_text(double value) { return shortest_text(value); }

std::string number_text(float value) { return shortest_text(value); }

void append_csv_field(std::string* line, std::string_view field) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos && !looks_like_formula(field)) {
        *line += field;
        return;
    }
    *line += '"';
    for (const char character : field) {
        if (character == '"') *line += '"';
        *line += character;
    }
    *line += '"';
}

}  // namespace atbprobe
