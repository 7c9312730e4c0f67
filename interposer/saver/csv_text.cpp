#include "csv_text.h"

#include <algorithm>
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

// `-inf`, or digits with a fraction and an exponent where there are any: what number_text makes of a number below zero.
// Not std::from_chars, which brings libm and two static objects with it.
bool is_negative_number(std::string_view field) {
    const auto skip = [&field](std::string_view characters, size_t most) {
        const size_t count = std::min({field.find_first_not_of(characters), field.size(), most});
        field.remove_prefix(count);
        return count != 0;
    };
    const auto skip_digits = [&] { return skip("0123456789", field.size()); };
    if (!skip("-", 1)) return false;
    if (field == "inf") return true;
    if (!skip_digits()) return false;
    if (skip(".", 1) && !skip_digits()) return false;
    if (!skip("e", 1)) return field.empty();
    skip("+-", 1);
    return skip_digits() && field.empty();
}

bool looks_like_formula(std::string_view field) {
    constexpr std::string_view kFormulaStarts = "=+-@\t\r";
    return !field.empty() && kFormulaStarts.find(field.front()) != std::string_view::npos && !is_negative_number(field);
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
