// Texts as they stand in statistic.csv: independent of the locale, and safe to open in a spreadsheet.
#pragma once

#include <string>
#include <string_view>

namespace atbprobe {

// The shortest decimal text that reads back to the same value; `nan`, `inf`, `-inf`.
std::string number_text(double value);
std::string number_text(float value);

// Appends `field`, quoted (RFC 4180) if it holds a comma, a quote or a line break, or if a spreadsheet could take it
// for a formula: it begins like one and is not a number.
void append_csv_field(std::string* line, std::string_view field);

}  // namespace atbprobe
