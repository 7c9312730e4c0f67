// A report was mostly written by the same library already, and then its text stays as it is. It cannot always be made
// anew from the value: that library's algorithm (Grisu2) gives a few numbers of a thousand in other than the shortest
// and nearest digits. Any other text is replaced by the shortest that reads back to the same value.
#include "json_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace atbprobe {
namespace {

// Numbers from 1e-4 up to 1e15 are written without an exponent.
constexpr int kLowestPoint = -3;
constexpr int kHighestPoint = 15;

// All texts that need more are none that a library writes.
constexpr size_t kMaxSource = 32;
constexpr size_t kUsualDigits = 16;

// 0.<digits> times ten to the power of `point`; `digits` begins and ends with another digit than 0.
struct Decimal {
    bool is_negative = false;
    std::string digits;
    int point = 0;
};

Decimal decimal_of(std::string_view text) {
    Decimal decimal;
    decimal.is_negative = text.front() == '-';
    if (decimal.is_negative) text.remove_prefix(1);
    const size_t exponent = std::min(text.find_first_of("eE"), text.size());
    if (exponent + 1 < text.size()) {
        std::string_view number = text.substr(exponent + 1);
        if (number.front() == '+') number.remove_prefix(1);
        std::from_chars(number.data(), number.data() + number.size(), decimal.point);
    }
    const std::string_view mantissa = text.substr(0, exponent);
    const size_t dot = std::min(mantissa.find('.'), mantissa.size());
    decimal.digits = mantissa.substr(0, dot);
    if (dot < mantissa.size()) decimal.digits += mantissa.substr(dot + 1);
    const size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
    decimal.digits.erase(0, zeros);
    decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
    decimal.point += static_cast<int>(dot) - static_cast<int>(zeros);
    return decimal;
}

std::string exponent_text(int exponent) {
    const std::string number = std::to_string(std::abs(exponent));
    return (exponent < 0 ? "e-" : "e+") + (number.size() < 2 ? "0" + number : number);
}

std::string text_of(const Decimal& decimal) {
    const std::string sign = decimal.is_negative ? "-" : "";
    const std::string& digits = decimal.digits;
    if (digits.empty()) return sign + "0.0";
    if (decimal.point < kLowestPoint || decimal.point > kHighestPoint) {
        const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
        return sign + digits.front() + fraction + exponent_text(decimal.point - 1);
    }
    if (decimal.point <= 0) return sign + "0." + std::string(static_cast<size_t>(-decimal.point), '0') + digits;
    const auto whole = static_cast<size_t>(decimal.point);
    if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::string json_real_text(std::string_view source, double value) {
    if (!std::isfinite(value)) return std::string(source);
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    const Decimal shortest = decimal_of({text, static_cast<size_t>(written.ptr - text)});
    if (source.size() <= kMaxSource && value != 0) {
        const Decimal given = decimal_of(source);
        const size_t most_digits = std::max(kUsualDigits, shortest.digits.size() + 1);
        if (given.digits.size() <= most_digits && text_of(given) == source) return std::string(source);
    }
    return text_of(shortest);
}

}  // namespace atbprobe
